"""Han words are cut as jieba cuts them, from a dictionary that takes a seventh of its memory; what
is kept of it is what a reading of it gives, or is not used."""

from __future__ import annotations

import io
import weakref
from functools import cache
from hashlib import blake2b
from pathlib import Path

import jieba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text import dictionary as dictionary_module
from astrbot_plugin_scoped_memory.llm_memory.text.dictionary import (
    Segmenter,
    WordCounts,
    load_words,
)
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import simplified
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.tests.support.vitals import vitals

pytestmark = pytest.mark.unit

DICTIONARY = "花生 30 n\n花生酱 4 n\n生 2\n酱油 7 n\n".encode()
PLAIN = [0, 30, 4, 2, 0, 7, None, 0, 30, 4, 43]


@cache
def jiebas() -> jieba.Tokenizer:
    """With the words of its dictionary in one script: of equal ones the last counts. Made when a
    test asks for it: it takes a second, and each worker collects this module."""
    tokenizer = jieba.Tokenizer()
    lines = simplified(tokenizer.get_dict_file().read().decode()).splitlines(keepends=True)
    lines.sort(key=lambda line: int(line.split(" ")[1]))
    file = io.BytesIO("".join(lines).encode())
    file.name = "dict.txt"  # type: ignore[attr-defined]
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(file)
    tokenizer.initialized = True
    return tokenizer


@cache
def dictionary() -> WordCounts:
    return load_words(jiebas().get_dict_file(), None)


def loaded(cache: Path | None, lines: bytes = DICTIONARY) -> WordCounts:
    return load_words(io.BytesIO(lines), cache)


def told(words: WordCounts) -> list[int | None]:
    """All that a dictionary says of some words."""
    looks = [words.look(word) for word in ("花", "花生", "花生酱", "生", "酱", "酱油", "油")]
    return [*looks, *words.along("生花生酱油", 1), words.total]


@pytest.mark.contract
def test_every_word_and_every_beginning_has_the_count_that_jieba_has() -> None:
    assert dictionary().total == jiebas().total
    assert all(dictionary().look(word) == count for word, count in jiebas().FREQ.items())


LINES = st.lists(
    st.tuples(
        st.text(st.characters(codec="utf-8", exclude_characters=" \n"), min_size=1, max_size=4)
        | st.text("花生酱a𠮷\0", min_size=1, max_size=4),
        st.integers(0, 2**31 - 1),
    ),
    min_size=1,
)


@given(LINES, st.text(st.sampled_from("花生酱a𠮷\0"), max_size=5))
def test_any_dictionary_says_of_any_text_what_its_lines_say(
    lines: list[tuple[str, int]], text: str
) -> None:
    words = loaded(None, "".join(f"{word} {count} n\n" for word, count in lines).encode())
    counts: dict[str, int] = {}
    for word, count in lines:
        counts[simplified(word)] = max(count, counts.get(simplified(word), 0))
    known = {word[:end]: 0 for word in counts for end in range(1, len(word) + 1)} | counts
    for word in {*known, *(f"{word}生" for word in known), text, ""}:
        assert words.look(word) == known.get(word)
    assert words.total == sum(count for _, count in lines)


COMMON = st.deferred(
    lambda: st.sampled_from(sorted({char for word in list(jiebas().FREQ)[::500] for char in word}))
)


@pytest.mark.contract
@given(st.text(COMMON | st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF), max_size=30))
def test_any_text_is_cut_as_jieba_cuts_it(text: str) -> None:
    han = "".join(char for char in text if not char.isascii())
    assert Segmenter(dictionary()).cut(han) == jiebas().lcut(han, HMM=False)


@pytest.mark.parametrize("text", ["", "花生\n", "花生 viel\n", "花生 30\n 7\n", f"花生 {2**31}\n"])
def test_what_is_no_dictionary_is_refused(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        loaded(None, text.encode())


def test_what_is_kept_spares_the_reading_unless_it_is_damaged_or_of_another_dictionary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, digest = list[object](), dictionary_module.digest
    monkeypatch.setattr(dictionary_module, "digest", lambda file: read.append(file) or digest(file))
    kept = tmp_path / "index" / "dictionary.bin"
    assert [told(loaded(kept)), told(loaded(kept))] == [PLAIN] * 2
    assert len(read) == 1
    good = kept.read_bytes()
    other_format = blake2b(good[32:], digest_size=32).digest() + good[32:]
    torn = good[:-9] + bytes([good[-9] ^ 1]) + good[-8:]
    for bad in (b"", good[:32], good[:-1], torn, other_format):
        kept.write_bytes(bad)
        assert told(loaded(kept)) == PLAIN
        assert kept.read_bytes() == good
    assert len(read) == 6
    another = DICTIONARY.replace(b"30", b"31")  # as long, and perhaps of the same second
    assert loaded(kept, another).look("花生") == loaded(kept, another).look("花生") == 31
    assert len(read) == 7


def test_where_nothing_can_be_kept_the_words_are_there_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "dictionary.bin"):
        assert told(loaded(path)) == PLAIN
    assert [path.name for path in tmp_path.rglob("*.tmp")] == []


def test_a_tokenizer_that_is_closed_lets_go_of_the_dictionary(tmp_path: Path) -> None:
    before = 0
    for _ in range(20):
        tokenizer = Tokenizer(cache=tmp_path / "dictionary.bin")
        gone = weakref.ref(tokenizer.dictionary() or pytest.fail("no dictionary"))
        tokenizer.close()
        assert gone() is None
        before = before or vitals().handles
    assert vitals().handles < before + 10  # nineteen loads later; others may open some
