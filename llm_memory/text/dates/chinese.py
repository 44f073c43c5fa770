"""Chinese patterns for times; their groups are those of ``meanings``. Pure.

Every repetition in a pattern is bounded: a hostile text costs no more than a long one.
"""

from __future__ import annotations

from ..lazy_pattern import lazy_pattern
from .words import DAY_WORDS, FEASTS, UNIT_DAYS, UNIT_HOURS, VAGUE, chinese

_YEAR = "(?:(?:1[89]|2[01])[0-9]{2}|[一二][零〇一二三四五六七八九]{3})"
_MONTH = "(?:1[0-2]|0?[1-9]|十[一二]?|[元一二三四五六七八九])"
_DAY = (
    "(?:[12][0-9]|3[01]|0?[1-9]|二十[一二三四五六七八九]?|三十一?|十[一二三四五六七八九]?"
    "|[一二三四五六七八九])"
)
_NOT_IN_A_NUMBER = (
    "(?:(?<![0-9零〇一二两三四五六七八九十百千几第.:：/-])|(?<=[周期拜][一二三四五六])(?=[0-9]))"
)

_PART_END = "(?=[，。！？；、,.!?;\\s的就要会我他她去在]|$)"
_MONTH_PART = (
    f"(?P<part>上旬|中旬|下旬|初(?![中次一二三恋始步级])|底(?![薪线层片])|末|中{_PART_END})"
)
_YEAR_PART = f"初(?![中次一二三恋始步级])|底(?![薪线层片特])|末|(?<=年)中{_PART_END}"
_HALF = "上半年|下半年|第[一二三四]季度"
_NOT_A_MONTH = (
    "(?![饼球亮台租薪子色光嫂经老卡票费供季刊考均牙底]|有余|不见"
    "|[0-9一二两三四五六七八九十几]{1,3}[次回遍])"
)
_NOT_A_YEAR = "(?![轻龄纪代画糕华少])"
_MEASURED = "(?![0-9.:：%月号日个多万元块人条次天家件名位分度斤公里张本年点岁-])"

_FEAST = f"(?P<feast>{chinese(FEASTS)})"
_IN_A_YEAR = (
    f"(?:的?\\s?(?:(?P<month>{_MONTH})\\s?月份?"
    f"(?:的?\\s?(?P<day>{_DAY})\\s?[日号]|的?{_MONTH_PART}|{_NOT_A_MONTH}))"
    f"|的?(?P<season>[春夏秋冬])[天季]|的?年?(?P<year_part>{_YEAR_PART}|{_HALF})"
    f"|的?{_FEAST}|的?(?P<same_day>今天|今日))?"
)

_WEEKDAY = "[一二三四五六日天1-7]"
_NO_WEEKDAY = (
    "(?<!一(?=直(?![播飞达接升])|起(?![飞床诉步义立，,。；;、]|就|都)|[般些样致共]|定(?![下好了])))"
    "(?<!二(?=手))(?<!日(?=程|常(?!规)|均|子))(?<![一二三四五六](?=天(?!气|还|没|不|[黑亮])))"
)
"""Behind 周, it begins the next word: 下周一起去, 这周日程, 上周三天都在."""
_COUNT = "(?:[0-9]{1,4}|[一二两三四五六七八九十百]{1,5}|半|好?几十?|数十?|十几)"
_NOT_A_DAY = (
    "(?:(?=钢琴|电[影视话]|球赛|女[儿生友]|男[友生]|车[展票险检]|机票|教[师练育]|店庆|门诊|房[租贷东]|公[司园]|主持|种树)"
    "|(?![楼线门店房桌文机电汽公馆厅院桥球位码选病员厂矿坑仓柜箱车床座排窗口出站信令铅字航台服区井弄巷"
    "钢染柴油键槽教主男女种方案墙队路街码宿室卡船舰艇牌柱铺屋高铁档粮公称钻人角色]))"
)
_BEFORE_A_DAY = "(?<![月座房楼路街巷弄门牌学工尾账车卡编型代单票证排])"

_NOT_COUNTED = "(?!次|遍|趟|个(?!月)|人次|张|篇)"
_ACQUIRED = "性|获得|形成|养成|习得|免疫|失调|努力(?!学|工|复|准)"

PATTERNS = tuple(
    lazy_pattern(pattern)
    for pattern in (
        f"(?<=[从自打由])(?P<which>上{{1,2}}个?|下{{1,2}}个?|本|这个?)(?P<unit>周|星期|礼拜)"
        f"(?P<weekday>{_WEEKDAY})(?=起)",
        f"(?<![如过])(?P<year_word>大前年|去年|[今本明]年){_NOT_A_YEAR}{_IN_A_YEAR}",
        f"(?<![如以之从目此底初])(?P<year_word>[前后]年){_NOT_A_YEAR}{_IN_A_YEAR}",
        f"(?<![0-9.])(?P<year>{_YEAR})\\s?年{_NOT_A_YEAR}{_IN_A_YEAR}",
        f"(?<![0-9.])(?P<year>[0-9]{{2}})年(?={_MONTH}月){_IN_A_YEAR}",
        (
            "(?<![马晚早以网路身天])(?P<which>上{1,2}个?|下{1,2}个?|本|这个?)(?P<unit>月)"
            f"(?:份?的?(?P<day>{_DAY})[日号]|份?的?{_MONTH_PART}|份?{_NOT_A_MONTH})"
        ),
        (
            f"{_NOT_IN_A_NUMBER}(?P<month>{_MONTH})\\s?月份?的?\\s?(?P<day>{_DAY})"
            f"(?:\\s?[日号](?:[到至~～—-](?P<until>{_DAY})[日号])?|(?<=[0-9]){_MEASURED})"
        ),
        (
            f"{_NOT_IN_A_NUMBER}(?P<month>{_MONTH})月(?:份?的?{_MONTH_PART}|份|{_NOT_A_MONTH}(?!天(?!气)))"
        ),
        f"{_NOT_IN_A_NUMBER}{_BEFORE_A_DAY}(?P<day>{_DAY})号{_NOT_A_DAY}",
        (
            f"{_NOT_IN_A_NUMBER}(?<!月)(?P<day>[12]?[0-9]|3[01])日(?![游谈内后前元圆均报均间本记常语系式企韩剧])"
        ),
        "(?<![个每数整满岁])月(?P<part>初|底|末)(?![薪线层片])",
        f"(?<![个每数整满成半周几全0-9一二两三四五六七八九十])年(?P<year_part>{_YEAR_PART})",
        f"(?P<year_part>{_HALF})",
        # No 圣诞树, 五一路, 王国庆: a day has a verb, a time or nothing behind it.
        (
            f"(?:(?<![\u4e00-\u9fff0-9])|(?<=[在到过等的我你们咱年和])){_FEAST}"
            r"(?:节|(?<=节)|(?=[上下]午|[早晚]上|中午|[\s，。！？；、,.!?;（(]|$|[有没要会干做去来回放那当前后期的我你们咱是忙想打]))"
        ),
        f"(?P<word>{chinese(word for word in DAY_WORDS if word[0] not in '前后明')})",
        # 目前天气, 以前天天: the day before yesterday is in neither.
        "(?<![目之以眼从先提])(?P<word>前(?:天(?!天(?!气))|日|晚))",
        "(?<![然以之今最先此往背午饭])(?P<word>后(?:天(?!天(?!气)|[黑亮])|日(?!谈)))",
        ("(?<![黎透光声发聪证表鲜文])(?P<word>明(?:天(?!使|天(?!气)|生(?!日)|花板)|[日早晨晚儿]))"),
        f"如今(?:天气|日)|明明天(?:气|已|都|还)|今日头条|明日方舟|后天(?:{_ACQUIRED})",
        (
            "(?<![马晚早以网路身])(?P<which>上{1,2}个?|下{1,2}个?|本|这个?)(?P<unit>周|星期|礼拜)"
            f"(?:(?P<end>末)|(?P<weekday>{_WEEKDAY})(?!月){_NOT_COUNTED}"
            f"(?<!日(?=[记报])){_NO_WEEKDAY}|(?![刊边围岁长转密折]))"
        ),
        (
            f"(?<![一二两三四五六七八九十几每半整数0-9四])(?:周(?!天)|星期|礼拜)(?P<weekday>{_WEEKDAY})"
            f"(?![报刊围0-9]|日报){_NOT_COUNTED}"
        ),
        (
            f"(?:周|星期|礼拜){_WEEKDAY}?[到至~-](?:周|星期|礼拜)?{_WEEKDAY}|星期[日天]报|周末(?:版|画报)"
        ),
        "(?<![每])(?P<end>周末|双休日)",
        (
            f"(?<![第0-9.])(?P<count>{_COUNT})(?:来|多)?个?(?P<half>半)?"
            f"(?P<unit>{chinese([*UNIT_HOURS, *UNIT_DAYS])})(?P<more>半)?"
            "(?:以|之)?(?P<side>前|后)(?![提者台端妻锋言期线置途方列悔续果备门代勤缀遗])"
        ),
        (
            "(?P<range>最近|近|过去|未来|接下来|今后)的?(?:这|那)?"
            f"(?P<count>{_COUNT})个?(?P<unit>{chinese(UNIT_DAYS)})(?!前|后)"
        ),
        f"(?<![附靠])(?P<word>{chinese(VAGUE)})(?!好|够|的路|点儿?[。，]|处)",
    )
)
