"""The index of words: what it finds in which order, what a scope has to do with another, and
how much of a question a record speaks of."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.cut_texts import tokens_of
from astrbot_plugin_scoped_memory.llm_memory.index.question import says
from astrbot_plugin_scoped_memory.llm_memory.index.records import (
    WordMatches,
    WordQuery,
    WordRecord,
)
from astrbot_plugin_scoped_memory.llm_memory.index.scoring import AROUND, LEAST, LONG, coverage
from astrbot_plugin_scoped_memory.llm_memory.index.words import Words, coverages
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer

pytestmark = pytest.mark.unit

TOKENIZER = Tokenizer(use_jieba=False)
HOME, WORK = "家", "公司"


def record(scope: str, name: str, text: str, session: str = "", at: float = 0.0) -> WordRecord:
    return WordRecord(Key(scope, name), f"{text}{session}{at}", text, "", session, at)


def put(index: Words, *records: WordRecord) -> Words:
    index.put([(one, tokens_of(one, TOKENIZER)) for one in records])
    return index


def holding(*records: WordRecord) -> Words:
    return put(Words(TOKENIZER), *records)


def ask(
    index: Words, text: str, scope: str = HOME, *, before: str = "", k: int = 50
) -> WordMatches:
    seen = ScopeFilter.reading_as(Scope.parse(scope))
    matches = index.search(WordQuery(text, text, before), seen, k)
    scores = [one.score for one in matches.found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < one.score <= 1 and 0 <= one.coverage <= 1 for one in matches.found)
    return matches


def found(index: Words, text: str, scope: str = HOME, *, k: int = 50) -> list[str]:
    """Ids, best first."""
    return [one.key.memory_id for one in ask(index, text, scope, k=k).found]


FAMILY = (
    record(HOME, "m-1", "奶奶对花生过敏", "周一", 1),
    record(HOME, "m-2", "爷爷喜欢花生酱", "周一", 2),
    record(HOME, "m-3", "花盆摆在阳台上", "周二", 3),
    record(HOME, "m-4", "过敏药放在药箱里", "周二", 4),
    record(HOME, "m-5", "Maya: she is allergic to peanuts"),
    record(WORK, "m-6", "公司门禁密码每周换"),
    record("public", "m-7", "门禁在一楼"),
    record("quarantine", "m-8", "门禁密码是假的"),
    record(HOME, "m-9", "😀"),
)


@pytest.mark.parametrize(
    ("text", "scope", "ids"),
    [
        ("any peanut allergies?", HOME, ["m-5"]),
        ("阳台", HOME, ["m-3", "m-4"]),  # the second stands beside it
        ("门禁密码", HOME, ["m-7"]),
        ("门禁密码", WORK, ["m-6", "m-7"]),
        ("门禁密码", "public", ["m-7"]),
        ("没有提到", HOME, []),
        *((nothing, HOME, []) for nothing in ("", "😀", "的了吗", "?!")),
    ],
)
def test_what_a_reader_sees_is_found_by_its_words(text: str, scope: str, ids: list[str]) -> None:
    assert found(holding(*FAMILY), text, scope) == ids


def test_with_the_filter_off_everything_is_found_but_quarantine() -> None:
    everything = ScopeFilter((PUBLIC,), everything=True)
    matches = holding(*FAMILY).search(WordQuery("门禁", "门禁"), everything, 10)
    assert {one.key.scope for one in matches.found} == {WORK, "public"}


def test_a_small_scope_is_searched_beside_a_big_one_as_if_it_were_alone() -> None:
    others = [record(WORK, f"m-{n}", f"花生过敏的第{n}件事", f"{n % 9}", n) for n in range(3000)]
    beside = put(put(holding(*others[:1500]), *FAMILY), *others[1500:])
    for query in ("花生过敏", "谁对花生过敏", "阳台上的花", "药"):
        assert ask(beside, query) == ask(holding(*FAMILY), query)


@example(
    steps=[
        *((0, "花", 1, True), (1, "花", 0, True), (2, "花", 0, True), (3, "花", 1, True)),
        (0, "花", 0, False),
    ]
)
@settings(max_examples=max(5, settings().max_examples // 4))
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("花草树木"), st.integers(0, 2), st.booleans()),
        max_size=25,
    )
)
def test_whatever_was_put_in_before_it_equals_a_fresh_one(
    steps: list[tuple[int, str, int, bool]],
) -> None:
    grown = Words(TOKENIZER)
    living: dict[Key, WordRecord] = {}
    for number, word, session, lives in steps:
        one = record(HOME, f"m-{number}", f"{word}在{session}楼", f"{session}", float(number))
        if lives:
            put(grown, one)
            living[one.key] = one
        else:
            grown.drop([one.key])
            living.pop(one.key, None)
    fresh = holding(*sorted(living.values(), key=lambda one: one.at))
    for query in ("花在楼上", "树木", "草"):
        ours = {(one.key, one.score, one.coverage) for one in ask(grown, query).found}
        assert ours == {(one.key, one.score, one.coverage) for one in ask(fresh, query).found}


def test_what_holds_every_word_is_counted_and_found_however_much_shares_some() -> None:
    text = "备用钥匙在门口第三个花盆底下"
    long = f"{text}。" + "。".join(f"另外第{n}件事也记在这里" for n in range(60))
    some = [record(HOME, f"m-{n}", f"备用钥匙在门口第三个抽屉里{n}") for n in range(300)]
    whole = [record(HOME, f"h-{n}", long) for n in range(3)]
    index = holding(*whole, *some, record(WORK, "m-w", text))
    assert ask(index, text, k=3).holding == 3
    assert set(found(index, text, k=3)) == {"h-0", "h-1", "h-2"}
    assert ask(index, text, WORK).holding == 1
    assert ask(index, text, "public").holding == 0


@pytest.mark.parametrize(("k", "many"), [(-1, 0), (0, 0), (1, 1), (7, 7), (99, 7)])
def test_at_most_k_are_found_and_of_equals_the_later_first(k: int, many: int) -> None:
    index = holding(*(record(HOME, f"m-{n}", "柜子里是旧书") for n in range(7)))
    put(index, record(HOME, "m-0", "柜子里是旧书"))
    assert found(index, "柜子里的旧书", k=k) == [f"m-{n}" for n in range(6, 6 - many, -1)]


@pytest.mark.parametrize(("before", "first"), [("奶奶今天来了", "m-1"), ("爷爷今天来了", "m-2")])
def test_the_talk_before_a_question_orders_what_is_found_and_answers_nothing(
    before: str, first: str
) -> None:
    index = holding(*FAMILY)
    alone = {one.key: one.coverage for one in ask(index, "花生").found}
    after = ask(index, "花生", before=before).found
    assert after[0].key == Key(HOME, first)
    assert all(one.coverage == alone.get(one.key, 0.0) for one in after)


def test_without_numpy_there_is_no_index_and_a_rough_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = Words(TOKENIZER)
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(IndexUnavailable, check=lambda fault: fault.code == "no_numpy"):
        put(index, *FAMILY)
    shares = coverages(WordQuery("花生过敏", "花生过敏"), FAMILY)
    assert shares[0] == max(shares) > shares[2] > shares[-1] == 0


WEIGHT = st.floats(0.1, 20)


def covered(weights: list[float], holds: list[float], length: float = 10.0) -> float:
    """Of one document; all tokens are asked for."""
    every, held = np.ones(len(weights), dtype=bool), np.array(holds).reshape(-1, 1)
    (share,) = coverage(np.array(weights), every, held, np.array([length]))
    return float(share)


@given(st.lists(WEIGHT, min_size=1, max_size=12), st.data())
def test_who_says_more_of_a_question_covers_more_of_it(
    weights: list[float], data: st.DataObject
) -> None:
    flags = st.lists(st.booleans(), min_size=len(weights), max_size=len(weights))
    said = [float(flag) for flag in data.draw(flags)]
    more = [max(a, float(b)) for a, b in zip(said, data.draw(flags), strict=True)]
    assert 0.0 <= covered(weights, said) <= covered(weights, more) <= 1.0


@given(WEIGHT, st.floats(1, 100_000), st.floats(1, 100_000))
def test_a_long_text_covers_less_with_the_same_words_but_never_nothing(
    weight: float, one: float, other: float
) -> None:
    short, long = sorted((one, other))
    assert covered([weight], [1.0], short) >= covered([weight], [1.0], long)
    assert covered([weight], [1.0], 20 * LONG) == pytest.approx(LEAST * covered([weight], [1.0]))
    assert covered([weight], [1.0], 2 * LONG) < covered([weight], [1.0], LONG)
    if long <= LONG:
        assert covered([weight], [1.0], long) == covered([weight], [1.0])


@given(text=st.text())
def test_every_token_says_something_and_none_all(text: str) -> None:
    assert all(0.0 < says(token) < 1.0 for token in TOKENIZER.tokens(text))
    assert says("lisbon") > says("tim") > says("the")


MEMORIES = (
    "奶奶对花生过敏",
    "图书馆周一闭馆",
    "小明喜欢喝美式咖啡",
    "公司周五下午三点开周会",
    "服务器的端口是8443",
    "Anna prefers green tea over coffee",
)
FLOOR = 0.36


@pytest.mark.parametrize(
    ("query", "memories"),
    [
        ("奶奶能吃花生吗", ["奶奶对花生过敏"]),
        ("图书馆哪天闭馆", ["图书馆周一闭馆"]),
        ("服务器用哪个端口", ["服务器的端口是8443"]),
        ("小明喜欢喝什么", ["小明喜欢喝美式咖啡"]),
        ("does Anna take coffee or TEA?", ["Anna prefers green tea over coffee"]),
        *((talk, []) for talk in ("你好", "哈哈哈哈", "今天天气怎么样", "好的谢谢")),
        *((talk, []) for talk in ("what's up", "👍", "", "？！")),
    ],
)
def test_a_question_finds_its_memory_and_small_talk_none(query: str, memories: list[str]) -> None:
    """What speaks of much of the question, best first."""
    records = [WordRecord(Key(HOME, text), text, text) for text in MEMORIES]
    shares = coverages(WordQuery(query, query), records)
    ranked = sorted(zip(shares, MEMORIES, strict=True), reverse=True)
    assert [text for share, text in ranked if share >= FLOOR] == memories


def test_what_stands_around_a_record_counts_less_than_what_it_says() -> None:
    said = WordRecord(Key("家", "1"), "1", "pottery class starts")
    around = WordRecord(Key("家", "2"), "2", "sounds lovely", context="pottery class starts")
    query = WordQuery("when is the pottery class", "when is the pottery class")
    shares = coverages(query, [said, around])
    assert 0 < shares[1] == pytest.approx(AROUND * shares[0])
    assert coverages(query, []) == []
