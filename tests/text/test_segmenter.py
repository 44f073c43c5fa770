"""Han words are cut as jieba cuts them, from a dictionary that takes a seventh of its memory; what
is kept of it is what a reading of it gives, or is not used."""

from __future__ import annotations

import io
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import blake2b
from pathlib import Path

import jieba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text import dictionary_cache
from astrbot_plugin_scoped_memory.llm_memory.text.dictionary_cache import load_words
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import simplified
from astrbot_plugin_scoped_memory.llm_memory.text.segmenter import Segmenter
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.llm_memory.text.word_counts import WordCounts
from astrbot_plugin_scoped_memory.tests.support.vitals import vitals

pytestmark = pytest.mark.unit

SMALL = "花生 30 n\n花生酱 4 n\n生 2\n酱油 7 n\n"


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


def small(text: str = SMALL) -> WordCounts:
    return load_words(io.BytesIO(text.encode()), None)


@pytest.mark.contract
def test_every_word_and_every_beginning_has_the_count_that_jieba_has() -> None:
    assert dictionary().total == jiebas().total
    assert all(dictionary().look(word) == count for word, count in jiebas().FREQ.items())


LINES = st.lists(
    st.tuples(
        st.text(
            st.characters(
                codec="utf-8", exclude_characters=" ", exclude_categories=("Cc", "Zl", "Zp")
            ),
            min_size=1,
            max_size=4,
        )
        | st.text("花生酱a𠮷", min_size=1, max_size=4),
        st.integers(0, 2**31 - 1),
    ),
    min_size=1,
)


@given(LINES, st.text(st.sampled_from("花生酱a𠮷\0"), max_size=5))
def test_any_dictionary_says_of_any_text_what_its_lines_say(
    lines: list[tuple[str, int]], text: str
) -> None:
    words = small("".join(f"{word} {count} n\n" for word, count in lines))
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
HAN = st.one_of(COMMON, st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF))


@pytest.mark.contract
@given(st.text(HAN, max_size=30))
def test_any_text_is_cut_as_jieba_cuts_it(text: str) -> None:
    han = "".join(char for char in text if not char.isascii())
    assert Segmenter(dictionary()).cut(han) == jiebas().lcut(han, HMM=False)


def test_the_counts_along_a_text_are_those_of_its_words_and_beginnings() -> None:
    assert small().along("生花生酱油", 1) == [0, 30, 4]
    assert small().along("油") == []


@pytest.mark.parametrize(
    "text", ["", "花生\n", "花生 viel n\n", "花生 30\n 7 n\n", "花生 -7 n\n", f"花生 {2**31} n\n"]
)
def test_what_is_no_dictionary_is_refused(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        small(text)


DICTIONARY = "花生 30 n\n花生酱 4 n\n生 2\n酱油 7 n\n".encode()
ANOTHER = DICTIONARY.replace(b"30", b"31")  # as long, and perhaps of the same second


def loaded(cache: Path | None, dictionary: bytes = DICTIONARY) -> WordCounts:
    return load_words(io.BytesIO(dictionary), cache)


def told(words: WordCounts) -> list[int | None]:
    """All that a dictionary says of some words."""
    looks = [words.look(word) for word in ("花", "花生", "花生酱", "生", "酱", "酱油", "油")]
    return [*looks, words.total]


PLAIN = [0, 30, 4, 2, 0, 7, None, 43]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where one is kept already."""
    loaded(path := tmp_path / "index" / "dictionary.bin")
    return path


@pytest.fixture
def digested(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows by one whenever a dictionary's lines are read."""
    calls: list[object] = []
    digest = dictionary_cache.digest

    def counted(file: io.BufferedIOBase) -> bytes:
        calls.append(file)
        return digest(file)

    monkeypatch.setattr(dictionary_cache, "digest", counted)
    return calls


def test_what_is_kept_spares_the_reading_and_says_the_same(
    cache: Path, digested: list[object]
) -> None:
    assert told(loaded(cache)) == told(loaded(None)) == PLAIN
    assert len(digested) == 1  # by the one that keeps nothing


def test_another_dictionary_is_read_anew_and_kept(cache: Path, digested: list[object]) -> None:
    assert loaded(cache, ANOTHER).look("花生") == 31
    assert loaded(cache, ANOTHER).look("花生") == 31
    assert len(digested) == 1
    assert loaded(cache).look("花生") == 30


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "only a checksum": lambda kept: kept[:32],
    "cut short": lambda kept: kept[:-1],
    "longer": lambda kept: kept + b"\0",
    "garbage": lambda kept: b"\xff" * len(kept),
    "a bit of the head": lambda kept: kept[:40] + bytes([kept[40] ^ 1]) + kept[41:],
    "a bit of the tables": lambda kept: kept[:-9] + bytes([kept[-9] ^ 1]) + kept[-8:],
    "of another format": lambda kept: blake2b(kept[32:], digest_size=32).digest() + kept[32:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_made_again(damage: str, cache: Path, digested: list[object]) -> None:
    good = cache.read_bytes()
    bad = DAMAGES[damage](good)
    assert bad != good
    cache.write_bytes(bad)
    assert told(loaded(cache)) == PLAIN
    assert len(digested) == 1
    assert cache.read_bytes() == good


@pytest.mark.parametrize("obstacle", ["a folder in its place", "a file where its folder should be"])
def test_where_nothing_can_be_kept_the_words_are_there_all_the_same(
    obstacle: str, tmp_path: Path
) -> None:
    cache = tmp_path / "index" / "dictionary.bin"
    if obstacle == "a folder in its place":
        cache.mkdir(parents=True)
    else:
        cache.parent.write_text("")
    assert told(loaded(cache)) == PLAIN
    assert [path.name for path in tmp_path.rglob("*.tmp")] == []


def test_many_that_load_at_once_read_its_lines_once_and_leave_one_whole_file(
    tmp_path: Path, digested: list[object]
) -> None:
    cache = tmp_path / "dictionary.bin"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: told(loaded(cache)), range(16)))
    assert answers == [PLAIN] * 16
    assert list(tmp_path.iterdir()) == [cache]
    assert len(digested) == 1
    digested.clear()
    assert told(loaded(cache)) == PLAIN
    assert digested == []


def test_a_tokenizer_that_is_closed_lets_go_of_the_dictionary(tmp_path: Path) -> None:
    cache = tmp_path / "dictionary.bin"
    before = 0
    for _ in range(20):
        tokenizer = Tokenizer(cache=cache)
        words = tokenizer.dictionary()
        assert words is not None
        gone = weakref.ref(words)
        del words
        tokenizer.close()
        assert gone() is None
        before = before or vitals().handles
    assert vitals().handles < before + 10  # nineteen loads later; others may open some
