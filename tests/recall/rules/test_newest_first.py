"""Of several statements of one thing the newest comes first, the others are marked as older."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.core.services.injection_service import hit_line
from astrbot_plugin_scoped_memory.core.texts import Texts
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import DIGEST_TAG
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.recall.rules import newest_first as newest_first_module
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.newest_first import newest_first
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.questions.change import (
    Wanted,
    what_is_wanted,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.ranking import Candidate, Sifted, as_hit

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
HOME = Scope.parse("家人")


def said(text: str, days_ago: int, *, score: float = 0.9, **changes: object) -> Candidate:
    memory = Memory(f"m-{abs(hash(text)) % 10**8:08d}", text, NOW - timedelta(days=days_ago))
    stored = StoredMemory(HOME, "entities.md", replace(memory, **changes))  # type: ignore[arg-type]
    return Candidate(stored, 0.5, score=score)


def shown(wanted: Wanted, *candidates: Candidate) -> list[str]:
    """What is said in their order, and whether it is marked."""
    best = newest_first(Sifted(candidates, []), wanted).best
    return [("较早 " if c.earlier else "") + c.passage.memory.judgment for c in best]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("外公上次体检是哪天", Wanted.NOW),
        ("我们多久没去爬山了", Wanted.NOW),
        ("这是堂哥第几次换手机", Wanted.NOW),
        ("表姐现在还练琴吗", Wanted.NOW),
        ("以前是周二打球，现在呢", Wanted.NOW),
        ("钥匙还给物业了没有", Wanted.NOW),
        ("后来他们去哪了", Wanted.NOW),
        ("Does Ines still play the cello?", Wanted.NOW),
        ("How long since we saw Grandpa?", Wanted.NOW),
        ("When did Marek last call?", Wanted.NOW),
        ("Has the gas bill been paid?", Wanted.NOW),
        ("Which films has Marek seen with Ines?", Wanted.NEWEST),
        ("Where did Ines meet Marek?", Wanted.NEWEST),
        ("How many times did the car break down?", Wanted.NEWEST),
        ("例会以前在周几", Wanted.HISTORY),
        ("我们一共搬过几次家", Wanted.HISTORY),
        ("下个月一共要交多少房租", Wanted.ANY),
        ("讲讲这只猫的来龙去脉", Wanted.HISTORY),
        ("Where did Ines use to live, what is the history?", Wanted.HISTORY),
        ("Which day used to be training day?", Wanted.HISTORY),
        ("绿萝多久浇一次水", Wanted.ANY),
        ("Where is the ladder?", Wanted.ANY),
        ("上次我们吵架了。你觉得狗狗可爱在哪里？", Wanted.ANY),
    ],
)
def test_a_question_says_which_statement_it_is_for(question: str, wanted: Wanted) -> None:
    assert what_is_wanted(question) is wanted


@pytest.mark.parametrize(
    ("question", "old", "new", "is_older"),
    [
        ("How old is Tom's son Jack now?", "Tom's son Jack is 8 years old",
         "Tom's son Mark is 5 years old", False),
        ("小明的儿子乐乐现在几岁了", "小明的儿子乐乐今年8岁", "小明的儿子安安今年5岁", False),
        ("小明的儿子乐乐几岁", "小明的儿子乐乐今年8岁", "小明的儿子安安今年5岁", False),
        ("小明的儿子乐乐现在几岁了", "小明的儿子乐乐今年8岁", "小明的儿子乐乐今年9岁", True),
        ("第3号用户喜欢第几种茶", "第3号用户喜欢第3种茶", "第989号用户喜欢第989种茶", False),
        ("第3号用户现在喜欢什么茶", "第3号用户喜欢红茶", "第3号用户改喝绿茶了，喜欢绿茶", True),
        ("公司团建现在去哪里", "公司团建去西湖边两天", "公司团建去千岛湖三天", True),
        ("公司团建还去西湖边吗", "公司团建去西湖边两天", "公司团建去千岛湖三天", True),
        ("Is rehearsal still on Wednesday?", "The band rehearsal is on Wednesday at 7",
         "The band rehearsal is on Sunday at 8", True),
    ],
)  # fmt: skip
def test_what_is_told_of_another_is_no_newer_statement(
    question: str, old: str, new: str, is_older: bool
) -> None:
    sifted = Sifted([said(old, 9), said(new, 2, score=0.8)], [])
    best = newest_first(sifted, what_is_wanted(question), question).best
    assert [one.earlier for one in best] == ([False, True] if is_older else [False, False])


BOILER = (
    "The boiler goes in the loft because the pipe run is easiest",
    "The boiler will go under the stairs since the joists upstairs are too weak",
)
KEY = "店里的备用钥匙在小鹿那里", "备用钥匙小鹿给我了，我来得早，以后放我这"


def order(question: str, old: str, new: str, **changes: object) -> list[str]:
    """Of two, the older of which has more of the question's words."""
    sifted = Sifted([said(old, 9), said(new, 2, score=0.85, **changes)], [])
    return texts(newest_first(sifted, what_is_wanted(question), question).best)


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        # A thing is where it was said to be last.
        ("where is the boiler going?", *BOILER),
        ("备用钥匙在谁那？", *KEY),
        ("备用钥匙在哪", *KEY),
        ("梯子放在哪儿？", "梯子在车库", "借来用了一下，梯子放储物间门后面"),
        ("帐篷放在哪里", "社团的帐篷放在器材室", "帐篷挪到活动室去了"),
        ("投影仪在谁那？", "公司投影仪在小鹿那里", "投影仪借给老郑了"),
        ("where are the spare cables kept?", "The spare cables are in the blue box",
         "The cables are now kept behind the amp"),
        # How it is now is told by the one who spoke of it last.
        ("堂妹现在早上喝什么，还喝豆浆吗", "堂妹天天早上喝热豆浆",
         "堂妹胃不好，戒了豆浆，喝起小米粥"),
        ("Does Ines still eat fish?", "Ines loves fish soup with saffron",
         "Ines gave up fish for good since she kept getting a rash"),
        ("表哥还考研吗", "表哥上个月说在准备考研", "想通了，不考研了，先去上班"),
        # A later remark that tells what is asked for, or says of a change.
        ("奶奶现在住在哪里", "奶奶现在住在城南的三号楼", "奶奶住到大姑家了"),
        ("外婆的药现在怎么吃", "外婆的药每天早上吃一片", "外婆的药医生说晚上吃两片"),
        ("王老师现在教几年级", "王老师教三年级数学", "王老师调去四年级了"),
        ("奶奶现在住院住在哪里", "奶奶住院在人民医院", "奶奶住院在康复医院"),
        ("小鹿现在欠谁多少钱", "小鹿欠老郑三十块", "小鹿把老郑的三十块还了"),
        # A change is told unasked.
        ("阿远什么时候报到", "阿远定在7月1日去新单位报到", "阿远的报到推到了7月9日，体检没出来"),
        ("月底把账本交给谁", "老秦打算月底把账本交给小满", "老秦改主意，月底把账本交给阿远"),
        ("奶奶的存折在哪个手上", "奶奶的存折在床头的铁盒里", "奶奶的存折交给了小姑"),
        ("哪天答复瑞达", "瑞达要我5月2号之前答复", "瑞达的答复拖到5月9号"),
        ("豆子周几由谁接", "豆子每天放学都由奶奶接", "豆子以后只在周一周三由奶奶接"),
        (
            "Which mill does the flour come from?",
            "The flour comes from Hill Mill, 20 bags every Tuesday",
            "From 9 March the flour comes from Dale Mill",
        ),
        ("Who plays second violin?", "Marek plays second violin", "Ines takes over second violin"),
        (
            "How much are the lessons a month?",
            "The lessons are 40 euros a month, paid in cash at the desk",
            "The lessons have gone up to 45 euros a month because of the heating bill",
        ),
        (
            "How much is the boat share?",
            "The boat share is 60 euros, due in April, by cheque to Ines",
            "The club has raised the boat share to 75 euros because of the new mooring",
        ),
        (
            "How much money is in the tea tin?",
            "The tea tin holds 34 euros",
            "After the party the tea tin is down to 19 euros",
        ),
        (
            "How much does the puppy weigh?",
            "The puppy weighs 3.2 kg",
            "The puppy is up to 5.5 kg and eats twice a day",
        ),
        (
            "How much does Jonas owe Ines for the bow?",
            "Jonas owes Ines 90 euros for the bow",
            "Jonas gave Ines 30 euros for the bow and still has 60 to pay",
        ),
        ("小鲁欠老邢多少钱", "小鲁欠老邢八百块", "小鲁给了老邢五百块，还差三百块"),
        ("年会定在哪家饭店", "年会的饭店在看翠园和松鹤楼", "年会的饭店定了松鹤楼"),
        (
            "What day is Ines moving house?",
            "Ines is moving house on Saturday 23 May and needs boxes",
            "Ines moves house on Sunday 31 May because the van fell through",
        ),
        # That the question says of a change names no other thing.
        ("下一次桌游局改到哪天？", "桌游局改到9月13日周日下午两点，在阿凯家",
         "下一次桌游局定在9月24日周四晚七点，在米粒家里"),
    ],
)  # fmt: skip
def test_what_was_said_last_of_what_is_asked_for_comes_first(
    question: str, old: str, new: str
) -> None:
    assert order(question, old, new) == [new, old]


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        # No later place of the thing.
        ("where was the boiler going?", *BOILER),
        ("what is the boiler like?", *BOILER),
        ("备用钥匙原来在谁那？", *KEY),
        ("备用钥匙是谁的？", *KEY),
        ("备用钥匙在谁那？", "店里的备用钥匙在小鹿那里", "家里的备用钥匙在抽屉里"),
        ("备用钥匙在哪？", "小鹿的备用钥匙在抽屉里", "备用钥匙放柜台底下"),
        ("备用钥匙在哪？", "备用钥匙在抽屉里", "备用钥匙扣在柜台底下"),
        ("备用钥匙在哪？", "备用钥匙在抽屉里", "备用钥匙不好使"),
        ("儿子在哪", "儿子在实验小学", "儿子在杭州"),
        ("where is the bike?", "Ann's bike is in the hall", "Bo's bike is in the shed"),
        ("where are the keys?", "My keys are in the hall", "My keys are in the car"),
        ("where is the boiler?", BOILER[0], "The boiler is noisy on Mondays"),
        ("where is the boiler?", BOILER[0], "The boiler cupboard is in the hall"),
        ("表姐不吃什么", "表姐不吃香菜", "表姐不吃花生"),
        ("小鹿欠谁钱", "小鹿欠老郑三十块", "小鹿欠梁叔五十块"),
        # Nothing of how it is now.
        ("堂妹早上喝什么", "堂妹天天早上喝热豆浆", "堂妹胃不好，喝起小米粥"),
        ("小明的儿子乐乐现在几岁了", "小明的儿子乐乐今年8岁", "小明的儿子安安今年5岁"),
        ("堂妹现在住哪", "堂妹住在学校旁边", "体育馆下周起闭馆"),
        ("Does Ines still eat fish?", "Ines loves fish soup with saffron",
         "The aquarium is closed on Mondays"),
        ("What did Ines cook with fish?", "Ines loves fish soup with saffron",
         "Ines gave up fish for good since she kept getting a rash"),
        # A remark that does not tell what is asked for.
        ("奶奶现在住在哪里", "奶奶现在住在城南的三号楼", "奶奶住院那天是小明送的花"),
        ("外婆的药现在怎么吃", "外婆的药每天早上吃一片", "外婆把药盒放在床头"),
        ("奶奶现在住哪里", "奶奶住在城南三号楼", "奶奶现在住哪里来着？"),
        ("Does Ines still eat fish?", "Ines loves fish soup", "Does Ines still eat fish at all?"),
        # A change of something else.
        (
            "What day is band practice now?",
            "Band practice is on Thursday in the hall",
            "Band shirts have gone up to 12 euros",
        ),
        ("自行车锁在哪里", "自行车锁在车棚里", "自行车还差一点就修完"),
        ("阿远什么时候报到", "阿远定在7月1日报到", "阿远不打羽毛球了"),
    ],
)  # fmt: skip
def test_a_later_remark_of_anything_else_stays_behind(question: str, old: str, new: str) -> None:
    assert order(question, old, new) == [old, new]


def test_of_several_in_a_row_the_newest_comes_first_though_it_has_few_of_the_words() -> None:
    best = [
        said("奶奶住在城南三号楼", 30, score=1.0),
        said("奶奶住进了城北的养老院", 20, score=0.6),
        said("奶奶住大姑家了", 2, score=0.4),
    ]
    question = "奶奶现在住哪里"
    sifted = newest_first(Sifted(best, []), what_is_wanted(question), question)
    assert texts(sifted.best) == texts(best)[::-1]


def test_long_texts_are_compared_once_each_and_not_to_their_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time goes by the square of their length, on the event loop."""
    compared: list[tuple[int, int]] = []

    class Counted(SequenceMatcher[str]):
        def __init__(self, junk: None, one: list[str], other: list[str], **more: bool) -> None:
            compared.append((len(one), len(other)))
            super().__init__(junk, one, other, **more)

    monkeypatch.setattr(newest_first_module, "SequenceMatcher", Counted)
    names = ["甲乙丙丁"[n] + "子丑寅卯"[n] for n in range(4)]
    best = [said(f"公司项目{name}{n}期" + "写文档" * 500, n) for n, name in enumerate(names)]
    question = f"公司项目{'和'.join(names)}现在谁在做"
    newest_first(Sifted(best, []), what_is_wanted(question), question)
    assert len(compared) == len(names) * (len(names) - 1) / 2
    assert max(max(pair) for pair in compared) <= 100


def test_how_it_is_now_is_told_by_those_alone_who_share_the_scope() -> None:
    question, before, after = "表哥还考研吗", "表哥在准备明年考研", "想通了，不考研了，找工作去"
    old, new = said(before, 9), said(after, 2, score=0.85)
    away = replace(new, passage=replace(new.passage, scope=Scope.parse("public")))  # type: ignore[arg-type]
    best = newest_first(Sifted([old, away], []), what_is_wanted(question), question).best
    assert texts(best) == [before, after]
    assert order(question, before, after) == [after, before]


def test_a_later_place_counts_for_those_alone_who_heard_it() -> None:
    old, new = said(KEY[0], 9), said(KEY[1], 2, score=0.85)
    away = replace(new, passage=replace(new.passage, scope=Scope.parse("公司")))  # type: ignore[arg-type]
    order_told = newest_first(Sifted([old, away], []), Wanted.ANY, "备用钥匙在谁那？").best
    assert texts(order_told) == list(KEY)
    assert order("备用钥匙在谁那？", *KEY, quoted=True) == list(KEY)


def test_there_may_be_two_of_a_thing_so_neither_place_is_marked() -> None:
    sifted = Sifted([said(KEY[0], 9), said(KEY[1], 2, score=0.85)], [])
    best = newest_first(sifted, Wanted.ANY, "备用钥匙在谁那？").best
    assert [one.earlier for one in best] == [False, False]


def test_what_says_that_it_changed_comes_before_what_was() -> None:
    old, new = said("乒乓球训练在周二晚上", 9), said("乒乓球训练改到周四晚上", 2, score=0.7)
    lines = ["乒乓球训练改到周四晚上", "较早 乒乓球训练在周二晚上"]
    assert shown(Wanted.ANY, old, new) == lines
    assert shown(Wanted.ANY, new, old) == lines


def test_another_day_of_the_same_thing_is_a_change() -> None:
    old, new = said("Choir practice is on Monday", 9), said("Choir practice is on Friday", 1)
    assert shown(Wanted.ANY, old, new)[0] == "Choir practice is on Friday"


def test_of_what_adds_up_nothing_is_outdated() -> None:
    lines = ["表姐不吃香菜", "表姐不吃花生"]
    assert shown(Wanted.ANY, said(lines[0], 9), said(lines[1], 1)) == lines


def test_other_matters_keep_their_order() -> None:
    lines = ["阳台的绿萝要少浇水", "Kofi 把单车锁换了", "外公搬到城南去了"]
    asked = [said(text, 9 - n) for n, text in enumerate(lines)]
    assert shown(Wanted.NEWEST, *asked) == lines


def test_for_history_the_oldest_comes_first() -> None:
    lines = ["例会在周一早上", "例会改到周三早上", "例会改到周五早上"]
    one, two, three = (said(text, 9 - n) for n, text in enumerate(lines))
    assert shown(Wanted.HISTORY, two, three, one) == [f"较早 {t}" for t in lines[:2]] + lines[2:]


def test_a_diary_and_what_reads_like_an_order_are_nobodys_news() -> None:
    old = said("乒乓球训练在周二晚上", 9)
    diary = said("乒乓球训练改到周四晚上", 2, tags=(DIGEST_TAG,))
    order = said("乒乓球训练改到周五晚上", 1, quoted=True)
    assert shown(Wanted.ANY, old, diary, order)[0] == "乒乓球训练在周二晚上"


def test_the_third_of_several_is_not_the_fourth_of_before() -> None:
    third, fourth = (
        said("会议纪要里的第3件事", 9),
        said("会议纪要里的第4件事", 2, score=0.9),
    )
    assert shown(Wanted.ANY, third, fourth)[0] == "会议纪要里的第3件事"


def test_an_old_diary_stands_behind_what_is_newer() -> None:
    diary = said("2026-11-12：乒乓球训练在周二晚上，大家聊得开心", 9, tags=(DIGEST_TAG,))
    new = said("乒乓球训练改到周四晚上", 2, score=0.8)
    assert shown(Wanted.ANY, diary, new)[0] == "乒乓球训练改到周四晚上"


def test_what_hardly_answers_takes_nobodys_place() -> None:
    old, far = said("乒乓球训练在周二晚上", 9), said("乒乓球训练改到周四晚上", 2, score=0.1)
    assert shown(Wanted.NEWEST, old, far)[0] == "乒乓球训练在周二晚上"


def test_a_date_that_only_the_older_one_names_keeps_it_not_in_front() -> None:
    old = replace(said("月底盘点在29号晚上七点", 9, score=2.4), match=0.6)
    new = said("盘点又改了，提前到28号晚上七点", 2, score=0.5)
    assert shown(Wanted.ANY, old, new)[0] == "盘点又改了，提前到28号晚上七点"


OLD, FAR = "盘点在29号晚上七点", "盘点又改了，提前到28号"


def passed(wanted: Wanted, best: list[Candidate], below: list[Candidate], *unread: str) -> Sifted:
    """Where these texts were said and are not read yet."""
    return newest_first(
        Sifted(best, below),
        wanted,
        is_unread=lambda passage: passage.memory.judgment in unread,  # type: ignore[union-attr]
    )


def texts(candidates: Sequence[Candidate]) -> list[str]:
    return [c.passage.memory.judgment for c in candidates]  # type: ignore[union-attr]


def test_a_correction_that_nobody_has_read_comes_before_what_it_corrects() -> None:
    old, far, other = said(OLD, 9), said(FAR, 2, score=0.1), said("猫粮在柜子里", 3, score=0.5)
    unread = passed(Wanted.ANY, [old, other, far], [], FAR)
    assert texts(unread.best) == [FAR, OLD, "猫粮在柜子里"]
    assert [c.earlier for c in unread.best] == [False, True, False]
    assert texts(passed(Wanted.ANY, [old, other, far], []).best) == [OLD, "猫粮在柜子里", FAR]


def test_it_comes_along_from_below_the_floor() -> None:
    old, far = said(OLD, 9), said(FAR, 2, score=0.1)
    below = [said("猫粮在柜子里", 3, score=0.2), far, said("聚餐改到周五", 1, score=0.1)]
    found = passed(Wanted.NEWEST, [old], below, *texts(below))
    assert texts(found.best) == [FAR, OLD]
    assert texts(found.below) == ["猫粮在柜子里", "聚餐改到周五"]
    history = passed(Wanted.HISTORY, [old], below, *texts(below))
    assert texts(history.best) == [OLD, FAR]


RUN = "夜跑队每周二晚上七点半在石桥头集合跑步", "夜跑队改到晚上七点在大关桥集合"


@pytest.mark.parametrize(
    ("old", "new", "comes"),
    [
        (*RUN, True),
        ("The choir sings in the chapel on Monday evenings at seven",
         "The choir sings in the library instead on Monday evenings", True),
        (RUN[0], "夜跑队晚上七点在大关桥集合", False),
        (RUN[0], "夜跑队的队服改成蓝色了", False),
        (RUN[0], "改到晚上七点在大关桥集合，夜跑队的", False),
        ("外婆5月15日量血压，高压是158", "外婆5月24日的生日饭换到竹园餐厅", False),
        (RUN[0], "夜跑队改到晚上七点在大关桥集合吗？", False),
    ],
)  # fmt: skip
def test_what_says_that_just_this_has_changed_comes_along_read_or_not(
    old: str, new: str, comes: bool
) -> None:
    found = newest_first(Sifted([said(old, 9)], [said(new, 2, score=0.1)]), Wanted.ANY, "几点到")
    assert texts(found.best) == ([new, old] if comes else [old])
    assert [one.earlier for one in found.best] == ([False, True] if comes else [False])


def test_it_comes_along_to_those_alone_who_heard_it_and_not_where_it_is_older() -> None:
    old, new = said(RUN[0], 9), said(RUN[1], 2, score=0.1)
    away = replace(new, passage=replace(new.passage, scope=Scope.parse("public")))  # type: ignore[arg-type]
    for below in (away, said(RUN[1], 12)):
        found = newest_first(Sifted([old], [below]), Wanted.ANY, "几点到")
        assert (texts(found.best), texts(found.below)) == ([RUN[0]], [RUN[1]])


def test_it_tells_nothing_to_others_than_those_who_heard_it() -> None:
    old, far = said(OLD, 9), said(FAR, 2, score=0.1)
    elsewhere = replace(far, passage=replace(far.passage, scope=Scope.parse("公司")))  # type: ignore[arg-type]
    found = passed(Wanted.ANY, [old], [elsewhere], FAR)
    assert (texts(found.best), texts(found.below)) == ([OLD], [FAR])


TEXTS = st.sampled_from(["例会在周一早上", "例会改到周三早上", "猫粮在柜子里", "例会在周一早上吗"])


@given(
    st.lists(st.tuples(TEXTS, st.integers(0, 30), st.floats(0.1, 1)), max_size=8),
    st.sampled_from(Wanted),
)
def test_nothing_is_lost_or_added(drawn: list[tuple[str, int, float]], wanted: Wanted) -> None:
    best = sorted((said(t, d, score=s) for t, d, s in drawn), key=lambda c: -c.order)
    below = [said("别的", 3)]
    sifted = newest_first(Sifted(best, below), wanted)
    assert list(sifted.below) == below
    assert sorted(id(c.passage) for c in sifted.best) == sorted(id(c.passage) for c in best)


@pytest.mark.parametrize(("language", "word"), [("zh-CN", "较早"), ("en-US", "earlier")])
def test_the_line_says_that_something_newer_was_said(language: str, word: str) -> None:
    hit = as_hit(replace(said("例会在周一早上", 9), earlier=True), 200)
    assert f"· {word} ·" in hit_line(hit, Texts(language))
    assert f"· {word} ·" not in hit_line(replace(hit, earlier=False), Texts(language))


@pytest.mark.parametrize(("language", "word"), [("zh-CN", "日记"), ("en-US", "journal")])
def test_a_diary_is_signed_as_one(language: str, word: str) -> None:
    diary = as_hit(said("2026-11-12：大家去了公园", 9, tags=(DIGEST_TAG,)), 200)
    assert hit_line(diary, Texts(language)).startswith(f"[2026-11-12 · {word} · ")


def test_a_person_cannot_hide_behind_the_tag_of_a_diary() -> None:
    origin = replace(Memory("m-1", "x", NOW).provenance, who="小号")
    hit = as_hit(said("门开着", 9, tags=(DIGEST_TAG,), provenance=origin), 200)
    assert "小号" in hit_line(hit, Texts("zh-CN"))
