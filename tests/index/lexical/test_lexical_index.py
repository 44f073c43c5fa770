"""The index of words over SQLite: its order, its scopes, and what becomes of it when it breaks."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.lexical import lexical_index
from astrbot_plugin_scoped_memory.llm_memory.index.lexical.lexical_index import SqliteLexicalIndex
from astrbot_plugin_scoped_memory.llm_memory.index.lexical_port import (
    LexicalMatches,
    LexicalQuery,
    LexicalRecord,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.text import tokenizer
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer

pytestmark = pytest.mark.unit

HOME = "家"
VIEW = ScopeFilter.reading_as(Scope.parse(HOME))


def opened(path: Path) -> SqliteLexicalIndex:
    index = SqliteLexicalIndex(path, Tokenizer(use_jieba=False))
    index.open()
    return index


def record(scope: str, name: str, text: str, session: str = "", at: float = 0.0) -> LexicalRecord:
    return LexicalRecord(Key(scope, name), f"{text}{session}{at}", text, "", session, at)


def ask(index: SqliteLexicalIndex, query: str, view: ScopeFilter = VIEW) -> LexicalMatches:
    return index.search(LexicalQuery(query, query), view, 50)


FAMILY = [
    record(HOME, "m-1", "奶奶对花生过敏", "周一", 1),
    record(HOME, "m-2", "爷爷喜欢花生酱", "周一", 2),
    record(HOME, "m-3", "花盆摆在阳台上", "周二", 3),
    record(HOME, "m-4", "过敏药放在药箱里", "周二", 4),
]


def test_a_small_scope_is_searched_beside_a_big_one_as_if_it_were_alone(tmp_path: Path) -> None:
    alone, beside = opened(tmp_path / "a.sqlite"), opened(tmp_path / "b.sqlite")
    others = [record("公司", f"m-{n}", f"花生过敏的第{n}件事", f"{n % 9}", n) for n in range(3000)]
    beside.write(others[:1500], [])
    for index in (alone, beside):
        index.write(FAMILY, [])
    beside.write(others[1500:], [])
    for query in ("花生过敏", "谁对花生过敏", "阳台上的花", "药"):
        assert ask(alone, query).found
        assert ask(beside, query) == ask(alone, query)


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
def test_whatever_was_written_before_it_equals_a_fresh_one(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, int, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("words")
    grown, living = opened(folder / "grown.sqlite"), {}
    for number, word, session, lives in steps:
        one = record(HOME, f"m-{number}", f"{word}在{session}楼", f"{session}", float(number))
        if lives:
            grown.write([one], [])
            living[one.key] = one
        else:
            grown.write([], [one.key])
            living.pop(one.key, None)
    fresh = opened(folder / "fresh.sqlite")
    fresh.write(sorted(living.values(), key=lambda one: one.at), [])
    assert grown.hashes() == fresh.hashes()
    for query in ("花在楼上", "树木", "草"):
        ours = {(m.key, round(m.score, 9), m.coverage) for m in ask(grown, query).found}
        assert ours == {(m.key, round(m.score, 9), m.coverage) for m in ask(fresh, query).found}
    grown.close()
    fresh.close()


def test_forgotten_words_are_not_left_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    index = opened(path)
    index.write([record(HOME, "m-1", "密语叫做麒麟"), record(HOME, "m-2", "别的话")], [])
    index.write([], [Key(HOME, "m-1")])
    index.close()
    assert "麟".encode() not in path.read_bytes()


def test_a_row_that_names_another_scope_is_refused_and_written_again(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    index = opened(path)
    index.write([record(HOME, "m-1", "花生")], [])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE document SET place = '公司'")
    matches = ask(index, "花生")
    assert matches.found == ()
    assert matches.dropped == 1
    assert index.hashes() == {Key(HOME, "m-1"): ""}


def test_another_dictionary_begins_the_index_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = tmp_path / "a.sqlite", tmp_path / "jieba"
    folder.mkdir()
    spec = SimpleNamespace(submodule_search_locations=(str(folder),))
    monkeypatch.setattr(tokenizer, "find_spec", lambda _: spec)
    for lines, cause in (("花生 5\n过敏 5\n", ""), ("花生过敏 9\n花生 5\n", "fault")):
        (folder / "dict.txt").write_text(lines, "utf-8")
        index = SqliteLexicalIndex(path, Tokenizer())
        assert index.open() == cause
        assert index.count() == 0
        index.write(FAMILY, [])
        index.close()
    index = SqliteLexicalIndex(path, Tokenizer())
    assert index.open() == ""
    assert index.count() == len(FAMILY)
    index.close()


HARMS: dict[str, bytes | str] = {
    "a broken page": b"\0" * 4096,
    "another file": b"this is no database at all" * 100,
    "a later version": "PRAGMA user_version=99",
    "other columns": "DROP TABLE posting; CREATE TABLE posting (a, b)",
    "other tokens": "UPDATE meta SET value = 'of another time'",
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_what_is_no_sound_index_of_ours_is_begun_anew(tmp_path: Path, harm: bytes | str) -> None:
    path = tmp_path / "a.sqlite"
    index = opened(path)
    index.write(FAMILY, [])
    index.close()
    if isinstance(harm, bytes):
        path.write_bytes(harm + path.read_bytes()[len(harm) :])
    else:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.executescript(harm)
    again = SqliteLexicalIndex(path, Tokenizer(use_jieba=False))
    assert again.open() == "fault"
    assert again.count() == 0
    again.write(FAMILY, [])
    assert ask(again, "花生").found


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE posting SET data = x'010203'",
        "UPDATE posting SET data = x'FFFF0101'",
        "UPDATE posting SET block = 5000",
        "UPDATE frame SET data = x'00'",
        "UPDATE frame SET block = 7",
    ],
)
def test_blobs_that_make_no_sense_are_a_fault(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "a.sqlite"
    index = opened(path)
    index.write(FAMILY, [])
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    with pytest.raises(IndexUnavailable) as fault:
        ask(index, "花生过敏")
    assert fault.value.code == "fault"


@pytest.mark.parametrize("copy", [None, "of before"])
def test_a_file_that_is_gone_or_was_replaced_is_noticed_at_the_next_write(
    tmp_path: Path, copy: str | None
) -> None:
    path, older = tmp_path / "a.sqlite", tmp_path / "of before"
    opened(path).close()
    shutil.copy(path, older)
    index = opened(path)
    index.write(FAMILY, [])
    if copy is None:
        for left in tmp_path.glob("a.sqlite*"):
            left.unlink()
    else:
        older.replace(path)
    with pytest.raises(IndexUnavailable) as fault:
        index.write(FAMILY, [])
    assert fault.value.code == "missing"
    index.discard()
    index.open()
    index.write(FAMILY, [])
    assert index.count() == 4


def test_the_talk_before_a_question_orders_what_is_found_and_answers_nothing(
    tmp_path: Path,
) -> None:
    index = opened(tmp_path / "words.sqlite")
    index.write(FAMILY, [])
    for before, first in (("奶奶今天来了", "m-1"), ("爷爷今天来了", "m-2")):
        found = index.search(LexicalQuery("花生", "花生", before), VIEW, 50).found
        assert found[0].key == Key(HOME, first)
        alone = {match.key: match.coverage for match in ask(index, "花生").found}
        assert all(match.coverage == alone.get(match.key, 0.0) for match in found)


def test_a_search_waits_for_no_list_of_all_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = opened(tmp_path / "words.sqlite")
    index.write(FAMILY, [])
    found: list[LexicalMatches] = []

    def asked_meanwhile[T](rows: Iterable[T]) -> Iterator[T]:
        for row in rows:
            asking = threading.Thread(target=lambda: found.append(ask(index, "花生")), daemon=True)
            asking.start()
            asking.join(10)
            yield row

    monkeypatch.setattr(lexical_index, "cooperative", asked_meanwhile)
    assert set(index.hashes()) == {one.key for one in FAMILY}
    assert len(found) == len(FAMILY)
    index.close()
