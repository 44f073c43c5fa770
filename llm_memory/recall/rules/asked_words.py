"""Words with which one asks more of what was spoken of, and names nothing else. Pure data.

Attributes may be asked of anything (地址呢, "the price?"); a measure counts behind a number or a
question word (几点, 哪家); a verb of one character says nothing by itself (谁陪她, 住哪).
"""

from __future__ import annotations

from typing import Final

ATTRIBUTES: Final = (
    "时间 时长 日期 日子 年份 地点 地址 地方 位置 方位 楼层 房号 电话 手机 手机号 号码 邮箱 微信 "
    "微信号 网址 链接 账号 密码 名字 名称 姓名 全名 外号 价钱 价格 单价 房租 租金 费用 预算 颜色 "
    "大小 尺寸 尺码 型号 牌子 品牌 版本 口味 年龄 年纪 岁数 生日 身高 体重 长度 高度 重量 原因 "
    "理由 目的 用途 办法 方法 方式 路线 数量 数字 人数 剂量 用量 次数 期限 规格 职业 专业 细节 "
    "详情 状态 进度"
)
ENGLISH_ATTRIBUTES: Final = (
    "time date day weekday month year address location place phone number email e-mail link "
    "website password code name surname price cost rent fee colour color size model brand make "
    "version flavour flavor age birthday height weight length amount dose deadline job reason "
    "purpose detail"
)
MEASURES: Final = (
    "个位名次天号点岁楼层家间件只条张本台辆部份种款双套斤两米块元钱分秒周月年度路班期页站片"
    "颗粒瓶杯盒包袋箱排座床栋室门人口所科届场趟成折店"
)
VERBS: Final = "陪带接送买卖找租订约交付花收放拿取坐等见办管教选定换修装进出住叫姓属开停关考"
ENGLISH_VERBS: Final = (
    "go goes come comes coming take takes taking took pick picks picking bring brings bringing "
    "cost costs live lives living call called start starts end ends leave leaves leaving arrive "
    "arrives meet meets meeting pay pays paid buy bought sell sold open opens close closes last "
    "lasts need needs charge keep kept get gets got given belong belongs be will would should"
)
SMALL: Final = (
    "来着 具体 大概 大约 准确 确切 到底 究竟 一共 总共 最多 最少 最早 最晚 需要 应该 可以 打算 "
    "不 开始 结束 出发 举行 负责 发生 准备 照顾 办理 联系 营业 星期几 周几 礼拜几 左右 要 会 能 "
    "该 得 再 先 才 共 从 往 由 用 第"
)
ENGLISH_SMALL: Final = (
    "much many long far old big tall often soon late early kind sort type part one ones exactly "
    "again back whom with from by for since until till as up after before o'clock roughly usually"
)
