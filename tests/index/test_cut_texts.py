"""Texts that were cut into words are kept: what for, in which form, and when they go."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index import cut_texts
from astrbot_plugin_scoped_memory.llm_memory.index.cut_texts import (
    CutTexts,
    cut,
    text_key,
    tokens_of,
)
from astrbot_plugin_scoped_memory.llm_memory.index.records import word_record
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Passage
from astrbot_plugin_scoped_memory.llm_memory.storage.sqlite_file import SqliteFile
from astrbot_plugin_scoped_memory.llm_memory.text import tokenizer
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.tests.support.memories import stored
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = pytest.mark.unit

ONE = stored("密语叫做麒麟", 1, path="people/grandmother.md")
OTHER = stored("钥匙在抽屉里", 2)


class Cutter(Tokenizer):
    """Counts the texts that it cuts."""

    texts = 0

    def tokens(self, text: str) -> list[str]:
        self.texts += bool(text)
        return super().tokens(text)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(SqliteFile, "WAIT_SECONDS", 0.05)
    return tmp_path / "index" / "words.sqlite"


@contextmanager
def opened(path: Path) -> Iterator[CutTexts]:
    with closing(CutTexts(path)) as cache:
        cache.open()
        yield cache


def texts_cut(path: Path, *passages: Passage, use_jieba: bool = False) -> int:
    """How many had to be cut, of a file that is opened anew."""
    cutter, words = Cutter(use_jieba=use_jieba), Tokenizer(use_jieba=use_jieba)
    with opened(path) as cache:
        rows = cut(passages, cutter, cache)
    records = map(word_record, passages)
    assert rows == [(record, tokens_of(record, words)) for record in records]
    return cutter.texts


def test_a_text_is_cut_once_until_it_changes(path: Path) -> None:
    assert texts_cut(path, ONE, OTHER) == 2
    assert texts_cut(path, OTHER, ONE) == 0
    assert texts_cut(path, ONE, stored("钥匙在柜子里", 2)) == 1


def test_another_dictionary_or_version_cuts_anew(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "jieba"
    folder.mkdir()
    spec = SimpleNamespace(submodule_search_locations=(str(folder),))
    monkeypatch.setattr(tokenizer, "find_spec", lambda _: spec)
    for lines in ("密语 5\n叫做 5\n", "密语叫做 9\n麒麟 5\n"):
        (folder / "dict.txt").write_text(lines, "utf-8")
        assert texts_cut(path, ONE, use_jieba=True) == 1
        assert texts_cut(path, ONE, use_jieba=True) == 0
    assert texts_cut(path, ONE) == 1
    monkeypatch.setattr(cut_texts, "VERSION", "of another time")
    assert texts_cut(path, ONE) == 1


def test_what_cannot_be_opened_for_now_is_kept(path: Path) -> None:
    texts_cut(path, ONE)
    kept = path.rename(path.with_name("kept"))
    path.mkdir()  # as where the disk is full, or the rights are another's
    assert texts_cut(path, ONE) == 1
    path.rmdir()
    kept.rename(path)
    assert texts_cut(path, ONE) == 0


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_of_what_does_not_live_no_word_id_or_path_is_left(path: Path, is_forgotten: bool) -> None:
    left = ("麒麟", word_record(ONE).content_hash)
    with opened(path) as cache:
        cut((ONE, OTHER), Tokenizer(use_jieba=False), cache)
        assert files_holding(path.parent, *left)
        assert not files_holding(path.parent, "m-0001", "grandmother", "GroupMessage")
        if is_forgotten:
            cache.forget({text_key(word_record(ONE))})
        cache.keep_only({text_key(word_record(OTHER))})
        assert not files_holding(path.parent, *left)
    assert texts_cut(path, OTHER) == 0


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN"])
def test_where_another_holds_the_file_a_purge_begins_it_anew(
    path: Path, lock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object, *, missing_ok: bool = False) -> None:
        raise PermissionError("not yours")

    living = {text_key(word_record(OTHER))}
    with opened(path) as cache, closing(sqlite3.connect(path, isolation_level=None)) as other:
        cut((ONE, OTHER), Tokenizer(use_jieba=False), cache)
        other.execute(lock)
        other.execute("SELECT * FROM cut").fetchall()
        cache.keep_only(living)  # as at a start
        assert files_holding(path.parent, "钥匙")
        with monkeypatch.context() as patch, pytest.raises(IndexUnavailable):
            patch.setattr(Path, "unlink", refuse)
            cache.keep_only(living, at_any_cost=True)
        assert files_holding(path.parent, "麒麟")
        cache.keep_only(living, at_any_cost=True)
        assert not files_holding(path.parent, "麒麟")
    assert texts_cut(path, OTHER) == 1
    with pytest.raises(IndexUnavailable):
        cache.keep_only((), at_any_cost=True)  # once closed it deletes nothing
