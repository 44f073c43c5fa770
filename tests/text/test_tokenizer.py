"""Text to tokens: total, deterministic, and never across scripts. Han words are cut as jieba cuts
them, from a dictionary that takes a seventh of its memory; what is kept of it is what a reading of
it gives, or is not used."""

from __future__ import annotations

import io
import sys
import unicodedata
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

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
from astrbot_plugin_scoped_memory.llm_memory.text.english import stem
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import simplified
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.tests.support.dictionary import digested_dictionary
from astrbot_plugin_scoped_memory.tests.support.vitals import vitals
from astrbot_plugin_scoped_memory.tests.support.words import rows

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


def test_what_is_no_dictionary_is_refused() -> None:
    for text in ("", "花生\n", "花生 viel\n", "花生 30\n 7\n", f"花生 {2**31}\n"):
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


WITH_JIEBA = Tokenizer(cache=digested_dictionary())
WITHOUT = Tokenizer(use_jieba=False)
BOTH = pytest.mark.parametrize("tokenizer", [WITH_JIEBA, WITHOUT], ids=["jieba", "characters"])

# What hypothesis would seldom put side by side.
_WORDS = (
    "重跑 gen-itgc 后 奶奶 3.14 ８４４３ カフェ ひらがな 안녕하세요 привет สวัสดี مرحبا नमस्ते 🎉 Ⅷ ﬁ ß"
)
_PIECES = st.sampled_from([*_WORDS.split(), "\u200b", "\ufe0f", "e\u0301", " "])
TEXTS = st.one_of(st.text(), st.lists(st.one_of(_PIECES, st.text(max_size=4))).map("".join))


def scripts_of(token: str) -> set[str]:
    """By Unicode's own names, independently of the code under test."""
    found = set()
    for char in token:
        category = unicodedata.category(char)
        if category[0] == "M" or char == "ー":  # sits on a letter; belongs to both kana
            continue
        name = unicodedata.name(char, "?").split()[0]
        kind = "DIGIT" if category == "Nd" else name
        found.add("HAN" if kind in {"CJK", "KANGXI", "IDEOGRAPHIC"} else kind)
    return found


@BOTH
@given(text=TEXTS)
def test_no_token_is_empty_crosses_into_another_script_or_depends_on_the_unicode_form(
    tokenizer: Tokenizer, text: str
) -> None:
    tokens, asked = tokenizer.tokens(text), tokenizer.query_tokens(text)
    assert set(asked) <= set(tokens)
    assert all(len(scripts_of(token)) == 1 for token in tokens)
    for form in ("NFKC", "NFD"):
        assert tokenizer.tokens(unicodedata.normalize(form, text)) == tokens  # type: ignore[arg-type]


@BOTH
def test_what_is_glued_is_parted_what_says_nothing_goes_and_width_does_not_matter(
    tokenizer: Tokenizer,
) -> None:
    tokens = set(tokenizer.tokens("重跑gen-itgc后用端口8443"))
    assert {"重", "跑", "gen", "itgc", "后", "8443"} <= tokens
    for chatter in ("你好", "什么", "怎麼樣", "为什么", "hello there", "what is it?"):
        assert tokenizer.query_tokens(chatter) == []
    assert "花生" in tokenizer.query_tokens("你还记得花生吗")
    assert tokenizer.tokens("什么") != []
    assert tokenizer.tokens("ＡＰＩ 花\u200b生") == tokenizer.tokens("api 花生")


def test_without_jieba_han_gives_bigrams_and_digits_and_other_words_stay_whole() -> None:
    for text, tokens in rows("tokens"):
        assert sorted(WITHOUT.tokens(text)) == sorted(tokens.split())


def test_chinese_gives_words_characters_and_pairs_that_the_dictionary_lacks() -> None:
    assert {"花生", "花", "生", "过敏"} <= set(WITH_JIEBA.tokens("奶奶對花生過敏"))
    assert "周会" in WITH_JIEBA.tokens("公司周五下午三点开周会")
    assert "周会" in WITH_JIEBA.query_tokens("週會是幾點")


def test_forms_of_a_word_have_one_stem() -> None:
    for (forms,) in rows("forms"):
        assert len({stem(form) for form in forms.split()}) == 1, forms


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzé", min_size=1))
def test_a_stem_is_never_empty_and_what_only_looks_like_a_form_is_left_alone(word: str) -> None:
    assert stem(word)
    words = "bus glass this red need king sing café"
    assert " ".join(map(stem, words.split())) == words


def test_without_a_whole_jieba_han_text_has_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for broken in (None, ModuleType("jieba")):
        monkeypatch.setitem(sys.modules, "jieba", broken)
        tokenizer = Tokenizer()
        assert tokenizer.tokens("花生") == ["花生", "花", "生"]
        assert tokenizer.dictionary() is None


def test_threads_that_load_at_once_get_the_same_tokens_and_write_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tokenizer = Tokenizer()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(tokenizer.tokens, ["图书馆周一闭馆"] * 4))
    assert answers == [WITH_JIEBA.tokens("图书馆周一闭馆")] * 4
    assert (list(tmp_path.iterdir()), capfd.readouterr()) == ([], ("", ""))
