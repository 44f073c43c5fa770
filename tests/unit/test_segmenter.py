"""Han words are cut as jieba cuts them, from a dictionary that takes a seventh of its memory."""

from __future__ import annotations

import io

import jieba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.components.segmenter import Segmenter
from astrbot_plugin_scoped_memory.llm_memory.components.word_counts import WordCounts

JIEBA = jieba.Tokenizer()
JIEBA.FREQ, JIEBA.total = JIEBA.gen_pfdict(JIEBA.get_dict_file())
JIEBA.initialized = True
WORDS = WordCounts(JIEBA.get_dict_file)
SEGMENTER = Segmenter(WORDS)
SMALL = "花生 30 n\n花生酱 4 n\n生 2\n酱油 7 n\n"


def small(text: str = SMALL) -> WordCounts:
    return WordCounts(lambda: io.BytesIO(text.encode()))


def test_every_word_and_every_beginning_has_the_count_that_jieba_has() -> None:
    assert WORDS.total == JIEBA.total
    assert all(WORDS.look(word) == count for word, count in JIEBA.FREQ.items())


def test_the_items_are_the_words_without_mere_beginnings() -> None:
    assert dict(small().items()) == {"花生": 30, "花生酱": 4, "生": 2, "酱油": 7}


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
    assert SEGMENTER.cut(text) == JIEBA.lcut(text, HMM=False)


COMMON = st.sampled_from(sorted({char for word in list(JIEBA.FREQ)[::500] for char in word}))
HAN = st.one_of(COMMON, st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF))


@given(st.text(HAN, max_size=30))
def test_any_text_is_cut_as_jieba_cuts_it(text: str) -> None:
    han = "".join(char for char in text if not char.isascii())
    assert SEGMENTER.cut(han) == JIEBA.lcut(han, HMM=False)


def test_words_whose_letters_are_the_same_bytes_are_not_mixed_up() -> None:
    assert hash("BP") == hash("偂")  # one byte a letter, two bytes a letter
    words = small("偂 47 n\n")
    assert words.look("偂") == 47
    assert words.look("BP") is None


def test_a_beginning_counts_nothing_and_another_text_is_not_there() -> None:
    words = small()
    assert [words.look(word) for word in ("花生", "花", "花生酱", "酱", "油")] == [
        *(30, 0, 4, 0, None)
    ]
    assert "花" in words
    assert "油" not in words
    assert words.get("油") is None
    with pytest.raises(KeyError):
        words["油"]


def test_of_a_word_that_stands_there_twice_the_later_count_holds_and_both_are_in_the_total() -> (
    None
):
    words = small("酱油 7 n\n酱油 9 n\n")
    assert words["酱油"] == 9
    assert words.total == 16
    assert list(words) == ["酱油"]


@pytest.mark.parametrize("text", ["花生\n", "花生 viel n\n"])
def test_what_is_no_dictionary_is_refused(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        small(text)
