"""The commands of ``/memory`` as AstrBot registers them. AstrBot waits for the import of this
module, so the functions behind the names stand in ``commands.py``."""

from __future__ import annotations

from typing import NamedTuple

ADMINS = "outcome.admins_only"


class Row(NamedTuple):
    """A command.

    Attributes:
        name: AstrBot keeps by it what an owner changed in its panel.
        aliases: Further names, divided by blanks; the first one is the Chinese one.
        doc: What the panel says of it.
        english: The alias that English texts use in place of ``name``.
        others: What people write who mean it, and AstrBot does not know.
        refusal: For a command of admins alone, the code of what others are told.
        bare: Nothing stands behind it.
        usage: The code of what is said where fewer than ``words`` stand behind it.
    """

    name: str
    aliases: str
    doc: str
    english: str = ""
    others: str = ""
    refusal: str = ""
    bare: bool = False
    usage: str = ""
    words: int = 1

    def called(self, language: str) -> str:
        """Returns the name that help and replies use."""
        return (self.english or self.name) if language == "en" else self.aliases.split()[0]


# fmt: off
COMMANDS = (
    Row("help", "帮助", "怎么用这些指令", others="? ？ 菜单 指令 命令 用法 menu usage commands"),
    Row("status", "状态", "记忆插件的状态", others="信息 情况 info state stat", bare=True),
    Row("scope", "域", "这里归哪个域、为什么；管理员后面写域名就换：/memory scope <域>",
        others="记忆域 分组 绑定 设置 归属 bind set map group"),
    Row("join", "加入", "请管理员让这里归一个域：/memory join <域>", usage="join.usage"),
    Row("list", "列表", "这里看得到的最新记忆", others="查看 看 显示 全部 所有 清单 show ls all"),
    Row("todo", "待办", "还没做完的事"),
    Row("search", "搜索 搜寻 查找 找 find", "搜索记忆：/memory search <词>",
        others="查看 查 查询 想起 回忆 query recall", usage="search.usage"),
    Row("why", "为什么", "上一次为什么想起了这些；后面写 前 2，看更早的", others="原因 explain"),
    Row("add", "记住", "记住一句话：/memory add <内容>",
        others="记 更正 添加 新增 加 保存 记下 remember save new", usage="add.usage"),
    Row("forget", "忘记 删除 delete remove", "忘记一条（能撤销）：/memory forget <号>",
        others="忘 忘掉 移除 清除 清空 rm del clear reset", usage="forget.usage"),
    Row("pause", "暂停", "这里什么也不记、不想起（群里由管理员发）：/memory pause [多久]",
        others="停 停止 关闭 关 别记 stop off disable"),
    Row("resume", "继续 取消暂停 unpause", "暂停以后接着记", others="开启 打开 开始 on", bare=True),
    Row("reflect", "反思", "马上读这里等着读的对话，和各处读不成的（管理员）",
        others="搁置 重试 failed letters retry", refusal=ADMINS, bare=True),
    Row("edit", "改写 修改", "改写一条（管理员，能撤销）：/memory edit <号> <内容>",
        others="编辑 改 更改 更正 change update", refusal=ADMINS, usage="edit.usage", words=2),
    Row("move", "移动", "移到另一个域（管理员，能撤销）：/memory move <号> <域>",
        others="转移 搬 mv", refusal=ADMINS, usage="move.usage", words=2),
    Row("yes", "是 是的 确认 confirm", "问过你的，就做；管理员：确认警告里等着的", bare=True),
    Row("no", "否 不 不要 取消 算了 拒绝 cancel reject", "问过你要不要做的，不做了", bare=True),
    Row("export", "导出", "把这里看得到的记忆导出成文件（管理员）",
        refusal="transfer.for_the_owner", bare=True),
    Row("import", "导入", "把 imports/ 里的文件导入这里的域（管理员）：/memory import <文件名>",
        refusal=ADMINS, usage="transfer.usage"),
    Row("backup", "备份", "把全部记忆和设置写成一个文件（管理员）", refusal=ADMINS, bare=True),
    Row("restore", "还原", "从备份的文件还原，先说会变什么（管理员）：/memory restore <文件名>",
        refusal=ADMINS, usage="moving.usage"),
    Row("undo", "撤销 恢复 找回", "撤销自己上一次的忘记、改写、移动或带来", others="回退 revert"),
    Row("decide", "决定", "提议、接受、否决、取代、撤回决定（管理员）", refusal=ADMINS),
    Row("soul", "语气 人格", "这里的人格学到的说话习惯；管理员改它：/memory soul propose <想要的>"),
    Row("sleep", "整理 tidy", "现在就做一次夜间整理（管理员）：/memory tidy [status]",
        english="tidy", others="睡觉 清理 clean", refusal=ADMINS),
    Row("migrate", "迁移", "旧记忆收进来得怎样（管理员）：/memory migrate [start|undo]",
        refusal=ADMINS),
)
# fmt: on
