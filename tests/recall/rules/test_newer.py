"""Of several statements of one thing the newest comes first, the others are marked as older; whose
place a memory took is told by its last line, where reflection has written it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import closed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Source
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.order import Candidate, as_hit
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.tell_once import (
    FEATURES,
    newer_first,
    predecessor,
    replacing,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.weights import shipped
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import hit_line
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.memories import FAMILY, NOW, memory, stored

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


def said(text: str, days_ago: int, who: str = "阿强", **more: Any) -> Candidate:
    at = NOW - timedelta(days=days_ago)
    return Candidate(stored(text, who=who, at=at, **more), 0.5, score=0.9)


def ordered(best: list[Candidate], below: Sequence[Candidate] = ()) -> list[Candidate]:
    return newer_first(best, below, shipped().newer)


def told(best: list[Candidate]) -> list[str]:
    """What is said in its order, and whether it is marked."""
    return [("较早 " if c.earlier else "") + c.passage.memory.judgment for c in best]  # type: ignore[union-attr]


def is_newer(old: Candidate, new: Candidate) -> bool:
    best = ordered([old, new])
    assert {id(one.passage) for one in best} == {id(old.passage), id(new.passage)}
    assert not best[0].earlier
    return best[1].earlier and best[0].passage is new.passage


COMPANY = Scope.parse("公司")
UPDATES = [
    # a plain negation
    ("小李抽烟", "小李不抽烟了"),
    ("Lee smokes cigarettes", "Lee no longer smokes cigarettes"),
    ("Ann is allergic to peanuts", "Ann is not allergic to peanuts any more"),
    # what says that it corrects
    ("团建的集合地点在东门", "更正：团建的集合地点在西门"),
    ("团建的集合时间是早上八点", "记错了，团建的集合时间是早上九点"),
    ("周会的主持人是小满", "纠正一下，周会的主持人是阿宁"),
    ("The picnic meeting point is the east gate",
     "Correction: the picnic meeting point is the west gate"),
    # a value: a weekday, a number, a Han numeral
    ("乒乓球训练在周二晚上", "乒乓球训练改到周四晚上"),
    ("周二的早会在三楼", "早会搬到五楼了，周二的也是"),
    ("周二的早会在三楼", "周二的早会改到五楼了"),
    ("家长会定在周二的晚上", "家长会改到周四的晚上"),
    ("会议室的门牌是十七号", "会议室的门牌是二十一号"),
    ("Choir practice is on Monday", "Choir practice is on Friday"),
    ("The boat share is 60 euros", "The boat share is 75 euros"),
    # a day of the month is no name of a thing
    ("羽毛球比赛在9月3号", "羽毛球比赛改到9月5号"),
    ("The recital is on June 3", "The recital is on June 5"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), UPDATES)
def test_what_says_how_it_stands_now_comes_first(old: str, new: str) -> None:
    before, after = said(old, 9), said(new, 2)
    assert is_newer(before, after)
    expected = [new, f"较早 {old}"]
    assert told(ordered([after, before])) == expected
    # What surely corrects it comes along from below.
    if old in (pair[0] for pair in UPDATES[4::4]):
        assert told(ordered([before], [said("猫粮在柜子里", 1), after])) == expected
        assert told(ordered([before], [said(new, 2, scope=COMPANY)])) == [old]


@pytest.mark.parametrize(("old", "new"), UPDATES[::4])
def test_neither_another_place_nor_what_was_before_nor_what_nobody_states(
    old: str, new: str
) -> None:
    settled = said(new, 2)
    done = closed(settled.passage.memory, "m-abcd1234")  # type: ignore[union-attr]
    settled = replace(settled, passage=replace(settled.passage, memory=done))  # type: ignore[arg-type]
    for other in (
        said(new, 2, scope=COMPANY),
        said(new, 10),
        said(new, 2, quoted=True),
        settled,
    ):
        assert not is_newer(said(old, 9), other)
    # A name that another account has taken vouches for nothing.
    impostor = said(new, 2, "老李", account="aiocqhttp:6")
    assert not is_newer(said(old, 9, "老李", account="aiocqhttp:1", trusted=True), impostor)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("外婆家的门牌是十七号", "外婆家的洗衣机修好了"),
        ("每周三小满去游泳", "每周四阿宁教画画"),
        ("Ines likes green tea", "Ines likes black coffee"),
        ("Grandma's house number is 17", "Grandma's washing machine is fixed"),
        ("The spare key hangs in the hall", "Choir practice is on Friday now"),
        ("打印机 2 号卡纸了", "打印机 3 号卡纸了"),
        ("周一的早会在三楼", "周二的早会在五楼"),
        ("小雯周三的课在一号楼", "小雯周四的课在二号楼"),
        ("早班是小王带队", "晚班是小李带队"),
        ("三楼的打印机坏了", "五楼的打印机修好了"),
        ("301室的钥匙在前台", "302室的钥匙在门卫"),
        ("Monday's standup is in room 3", "Tuesday's standup is in room 5"),
        ("The morning shift starts at 6", "The evening shift starts at 2"),
        ("Printer 2 is jammed", "Printer 3 is jammed"),
        # what asks, and what says next to nothing
        ("乒乓球训练在周二晚上", "乒乓球训练改到周四晚上吗？"),
        ("Choir practice is on Monday", "Is choir practice on Friday?"),
        ("期末考试的复习资料在网盘里，学到第三章了", "学到了"),
    ],
)
def test_another_matter_marks_nothing(old: str, new: str) -> None:
    assert not is_newer(said(old, 9), said(new, 2))


UPDATED = [
    # with its reason
    ("四年一班的春游定在4月10日", "四年一班的春游提前到4月3日，因为10日要下大雨"),
    ("The rowing dinner is on Thursday at the Harp", "The rowing dinner moved to Friday because "
     "the Harp is fully booked on Thursday"),
    # what is added is no other matter
    ("游泳馆的学生月票卖180元", "游泳馆的学生月票涨到240元了，老会员也不例外，续费的送两个月"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), UPDATED)
def test_an_update_may_give_its_reason_and_may_be_told_by_somebody_else(old: str, new: str) -> None:
    for who in ("阿强", "小满"):
        assert is_newer(said(old, 9), said(new, 2, who))


def test_among_what_is_relevant_the_better_answer_may_be_the_older_one() -> None:
    old, new = said("家长会定在周二的晚上", 9), said("家长会改到周四的晚上", 2)
    new.score = old.score - 30
    assert is_newer(old, new)
    new.relevance = -1.0  # what is not relevant has to be surer
    assert told(ordered([old], [new])) == ["家长会定在周二的晚上"]


def test_of_pairs_that_no_fit_has_read_enough_are_told_apart() -> None:
    """They were written to be hard: by two speakers, without a common word, about a like thing."""
    path = Path(__file__).parents[3] / "benchmarks/newer_pairs.held_out.json"
    found = {
        kind: [
            is_newer(said(old, 9), said(new, 2, who))
            for old, new in pairs
            for who in ("阿强", "小满")
        ]
        for kind, pairs in json.loads(path.read_text("utf-8")).items()
    }
    assert sum(found["updates"]) >= 28
    assert sum(found["others"]) <= 8
    assert [len(one) for one in found.values()] == [80, 100]


def test_what_two_accounts_call_their_own_are_two_things_and_only_a_voucher_beats_one() -> None:
    for old, new in (
        ("我的工位在三楼", "我的工位换到五楼了"),
        ("我的工位在三楼", "工位换到五楼了"),
        ("用户的工位在三楼", "用户的工位换到五楼了"),
        ("My desk is on the third floor", "My desk is on the fifth floor now"),
    ):
        assert not is_newer(said(old, 9, "老周"), said(new, 2, "阿强"))
        assert is_newer(said(old, 9, "老周"), said(new, 2, "老周"))
    old, new = "羽毛球活动在周六", "羽毛球活动改到周日"
    vouched = said(old, 9, "管理员", trusted=True)
    assert not is_newer(vouched, said(new, 2, "路人"))
    assert is_newer(vouched, said(new, 2, "管理员"))
    assert is_newer(said(old, 9, "路人"), said(new, 2, "管理员", trusted=True))


def test_of_several_in_a_row_the_newest_comes_first() -> None:
    texts = ["例会在周一早上", "例会改到周三早上", "例会改到周五早上"]
    best = [said(text, 30 - 9 * n) for n, text in enumerate(texts)]
    assert told(ordered(best)) == [texts[2], f"较早 {texts[1]}", f"较早 {texts[0]}"]
    model = shipped().newer
    assert model.weights.keys() <= set(FEATURES)
    assert min(model.weights.values()) >= 0 > model.bias  # none speaks against


TEXTS = st.sampled_from([text for pair in UPDATES for text in pair] + ["猫粮在柜子里"])
DRAWN = st.lists(
    st.builds(
        said,
        TEXTS,
        st.integers(0, 30),
        scope=st.sampled_from([FAMILY, COMPANY]),
        trusted=st.booleans(),
    ),
    max_size=8,
)


@given(DRAWN, DRAWN)
def test_nothing_is_lost_or_added_and_no_place_tells_of_another(
    best: list[Candidate], below: list[Candidate]
) -> None:
    marked = {id(c.passage): c.earlier for c in ordered(best, below)}
    assert len(marked) == len(ordered(best, below))
    assert {id(c.passage) for c in best} <= marked.keys()
    assert marked.keys() <= {id(c.passage) for c in (*best, *below)}
    for scope in (FAMILY, COMPANY):
        own, others = ([c for c in part if c.passage.scope == scope] for part in (best, below))  # type: ignore[union-attr]
        alone = {id(c.passage): c.earlier for c in ordered(own, others)}
        mine = {id(c.passage) for c in (*best, *below) if c.passage.scope == scope}  # type: ignore[union-attr]
        assert alone == {one: earlier for one, earlier in marked.items() if one in mine}


def test_the_line_says_that_something_newer_was_said() -> None:
    old = as_hit(said("例会在周一早上", 9), 200)
    for language, earlier in (("zh-CN", "较早"), ("en-US", "earlier")):
        texts = Texts(language)
        assert f"· {earlier} ·" in hit_line(replace(old, earlier=True), texts)
        assert f"· {earlier} ·" not in hit_line(old, texts)


@given(st.text(), st.from_regex(r"m-[0-9a-z]{24}", fullmatch=True))
def test_whose_place_it_took_is_read_as_it_was_written(reasons: str, old: str) -> None:
    reasoned = memory("妈妈早上喝豆奶", reasoning=replacing(reasons, old), source=Source.REFLECTION)
    assert predecessor(reasoned) == old
    for other in ("", f"取代 {old}\n他自己说的", "取代 昨天的", f"我取代 {old}", "取代 m-a b"):
        assert predecessor(replace(reasoned, reasoning=other)) == ""
    by_a_tool = replace(reasoned.provenance, source=Source.TOOL)
    assert predecessor(replace(reasoned, provenance=by_a_tool)) == ""
