"""What every index of words promises; the real one and the fake alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.lexical.lexical_index import SqliteLexicalIndex
from astrbot_plugin_scoped_memory.llm_memory.index.lexical_port import (
    LexicalIndex,
    LexicalQuery,
    LexicalRecord,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import InMemoryLexicalIndex

pytestmark = [pytest.mark.unit, pytest.mark.contract]

HOME, WORK = "家", "公司"


@pytest.fixture(params=["sqlite", "fake"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LexicalIndex]:
    made: LexicalIndex = (
        SqliteLexicalIndex(tmp_path / "lexical.sqlite", Tokenizer(use_jieba=False))
        if request.param == "sqlite"
        else InMemoryLexicalIndex()
    )
    assert made.open() == ""
    yield made
    made.close()


def record(scope: str, name: str, text: str, **more: object) -> LexicalRecord:
    """A record whose hash is its text."""
    return LexicalRecord(Key(scope, name), text, text, **more)  # type: ignore[arg-type]


def seen_from(scope: str) -> ScopeFilter:
    """A reader's view."""
    return ScopeFilter.reading_as(Scope.parse(scope))


def found(
    index: LexicalIndex, query: str, view: ScopeFilter, *fresh: LexicalRecord, k: int = 10
) -> list[str]:
    """Ids, best first."""
    matches = index.search(LexicalQuery(query, query), view, k, fresh)
    assert matches.dropped == 0
    scores = [match.score for match in matches.found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert all(0 <= match.coverage <= 1 for match in matches.found)
    return [match.key.memory_id for match in matches.found]


def test_what_holds_every_word_is_counted_and_found_however_much_shares_some(
    index: LexicalIndex,
) -> None:
    text = "备用钥匙在门口第三个花盆底下"
    long = f"{text}。" + "。".join(f"另外第{n}件事也记在这里" for n in range(60))
    some = [record(HOME, f"m-{n}", f"备用钥匙在门口第三个抽屉里{n}") for n in range(300)]
    holding = [record(HOME, f"h-{n}", long) for n in range(3)]
    index.write([*holding, *some, record(WORK, "m-w", text)], [])
    asked = LexicalQuery(text, text)
    matches = index.search(asked, seen_from(HOME), 3)
    assert matches.holding == 3
    assert {match.key.memory_id for match in matches.found} == {"h-0", "h-1", "h-2"}
    assert index.search(asked, seen_from(WORK), 3).holding == 1
    assert index.search(asked, ScopeFilter((PUBLIC,)), 3).holding == 0
    fresh = record(HOME, "h-new", text)
    assert index.search(asked, seen_from(HOME), 9, [fresh]).holding == 4


def test_english_is_found_in_other_forms_of_its_words(index: LexicalIndex) -> None:
    index.write([record(HOME, "m-1", "Maya: she is allergic to peanuts")], [])
    assert found(index, "any peanut allergies?", seen_from(HOME)) == ["m-1"]


def test_another_private_scope_is_never_found_whatever_its_words(index: LexicalIndex) -> None:
    index.write([record(WORK, "m-1", "门禁密码每周换"), record("public", "m-2", "门禁在一楼")], [])
    assert found(index, "门禁密码", seen_from(HOME)) == ["m-2"]
    assert found(index, "门禁密码", seen_from(WORK)) == ["m-1", "m-2"]
    assert found(index, "门禁密码", ScopeFilter((PUBLIC,))) == ["m-2"]


def test_what_waits_to_be_written_is_searched_by_the_same_rules(index: LexicalIndex) -> None:
    index.write([record(HOME, "m-1", "旧的门禁密码是一二三四")], [])
    fresh = [record(HOME, "m-1", "门禁换成了刷卡"), record(WORK, "m-9", "门禁密码在公司")]
    assert found(index, "门禁密码", seen_from(HOME), *fresh) == ["m-1"]
    assert found(index, "一二三四", seen_from(HOME), *fresh) == []
    assert found(index, "刷卡", seen_from(HOME), *fresh) == ["m-1"]
    assert found(index, "刷卡", seen_from(HOME)) == []


def test_with_the_filter_off_everything_is_found_but_quarantine(index: LexicalIndex) -> None:
    index.write([record(s, "m-1", "门禁密码") for s in (HOME, WORK, "public", "quarantine")], [])
    everything = ScopeFilter((PUBLIC,), everything=True)
    matches = index.search(LexicalQuery("门禁", "门禁"), everything, 10)
    assert {match.key.scope for match in matches.found} == {HOME, WORK, "public"}


def test_a_log_that_is_emptied_takes_no_record_with_it(index: LexicalIndex) -> None:
    index.write([record(HOME, "m-1", "奶奶对花生过敏"), record(HOME, "m-2", "钥匙在抽屉里")], [])
    index.write([], [Key(HOME, "m-2")])
    index.checkpoint_wal()
    assert found(index, "谁对花生过敏", seen_from(HOME)) == ["m-1"]
    index.close()
    with pytest.raises(IndexUnavailable):
        index.checkpoint_wal()


def test_at_most_k_are_found(index: LexicalIndex) -> None:
    index.write([record(HOME, f"m-{n}", f"第{n}号柜子里是旧书") for n in range(7)], [])
    for k, expected in ((-1, 0), (0, 0), (1, 1), (7, 7), (99, 7)):
        assert len(found(index, "柜子里的旧书", seen_from(HOME), k=k)) == expected


def test_a_query_without_words_finds_nothing(index: LexicalIndex) -> None:
    index.write([record(HOME, "m-1", "花生"), record(HOME, "m-2", "😀")], [])
    for query in ("", "😀", "的了吗", "?!"):
        assert found(index, query, seen_from(HOME)) == []


def test_discarded_it_begins_with_nothing_and_closed_it_answers_no_more(
    index: LexicalIndex,
) -> None:
    index.write([record(HOME, "m-1", "花生")], [])
    index.discard()
    assert index.open() == ""
    assert index.count() == 0
    index.close()
    index.close()
    for call in (index.count, index.hashes, index.open):
        with pytest.raises(IndexUnavailable):
            call()
