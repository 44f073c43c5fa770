"""Han words are cut as jieba cuts them, from a dictionary that takes a seventh of its memory."""

from __future__ import annotations

import io
from functools import cache

import jieba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.dictionary_cache import load_words
from astrbot_plugin_scoped_memory.llm_memory.text.segmenter import Segmenter
from astrbot_plugin_scoped_memory.llm_memory.text.word_counts import WordCounts

pytestmark = pytest.mark.unit

SMALL = "花生 30 n\n花生酱 4 n\n生 2\n酱油 7 n\n"


@cache
def jiebas() -> jieba.Tokenizer:
    """Made when a test asks for it: it takes a second, and each worker collects this module."""
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
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
        st.text(st.characters(codec="utf-8", exclude_characters=" \n"), min_size=1, max_size=4)
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
    counts = dict(lines)
    known = {word[:end]: 0 for word in counts for end in range(1, len(word) + 1)} | counts
    for word in {*known, *(f"{word}生" for word in known), text, ""}:
        assert words.look(word) == known.get(word)
    assert words.total == sum(count for _, count in lines)


@pytest.mark.contract
@pytest.mark.parametrize(
    "text",
    [
        "奶奶对花生过敏",
        "图书馆周一闭馆",
        "研究生命的起源",
        "下雨天留客天留我不留",
        "囧囧囧",
        "人人都说好〇々",
        "𠮷野家的牛肉饭",
        "鷄",
        "",
    ],
)
def test_a_text_is_cut_as_jieba_cuts_it(text: str) -> None:
    assert Segmenter(dictionary()).cut(text) == jiebas().lcut(text, HMM=False)


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
