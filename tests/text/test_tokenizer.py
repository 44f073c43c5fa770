"""Text to tokens: total, deterministic, and never across scripts."""

from __future__ import annotations

import sys
import threading
import unicodedata
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.english import stem
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import normalise
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer

pytestmark = pytest.mark.unit

WITH_JIEBA = Tokenizer()
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
def test_no_token_is_empty_or_crosses_into_another_script(tokenizer: Tokenizer, text: str) -> None:
    for token in (*tokenizer.tokens(text), *tokenizer.query_tokens(text)):
        assert token
        assert len(scripts_of(token)) == 1, token


@BOTH
@given(text=TEXTS)
def test_tokens_do_not_depend_on_the_unicode_form(tokenizer: Tokenizer, text: str) -> None:
    composed = unicodedata.normalize("NFKC", text)
    assert tokenizer.tokens(composed) == tokenizer.tokens(text)
    assert tokenizer.tokens(unicodedata.normalize("NFD", text)) == tokenizer.tokens(text)


@given(text=TEXTS)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@BOTH
@given(text=TEXTS)
def test_a_query_has_no_token_that_its_text_lacks(tokenizer: Tokenizer, text: str) -> None:
    assert set(tokenizer.query_tokens(text)) <= set(tokenizer.tokens(text))


@BOTH
def test_scripts_that_are_glued_together_are_parted(tokenizer: Tokenizer) -> None:
    tokens = set(tokenizer.tokens("重跑gen-itgc后用端口8443"))
    assert {"重", "跑", "gen", "itgc", "后", "8443"} <= tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("花生过", ["花生", "生过", "花", "生", "过"]),
        ("v20261121 8443", ["v", "20261121", "8443"]),
        ("Привет, мир", ["привет", "мир"]),
        ("नमस्ते", ["नमस्ते"]),
    ],
)
def test_without_jieba_han_gives_bigrams_and_digits_and_other_words_stay_whole(
    text: str, tokens: list[str]
) -> None:
    assert sorted(WITHOUT.tokens(text)) == sorted(tokens)


def test_chinese_gives_words_characters_and_pairs_that_the_dictionary_lacks() -> None:
    assert {"花生", "花", "生", "过敏"} <= set(WITH_JIEBA.tokens("奶奶对花生过敏"))
    assert "周会" in WITH_JIEBA.tokens("公司周五下午三点开周会")
    assert "周会" in WITH_JIEBA.query_tokens("周会是几点")


@BOTH
def test_a_query_loses_what_says_nothing(tokenizer: Tokenizer) -> None:
    for chatter in ("你好", "什么", "怎么样", "为什么", "hello there", "what is it?"):
        assert tokenizer.query_tokens(chatter) == []
    assert "花生" in tokenizer.query_tokens("你还记得花生吗")
    assert tokenizer.tokens("什么") != []


@BOTH
def test_width_case_and_invisible_characters_do_not_matter(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("ＡＰＩ 花\u200b生") == tokenizer.tokens("api 花生")


def test_kana_and_hangul_give_bigrams() -> None:
    assert {"コーヒー", "コー"} <= set(WITHOUT.tokens("コーヒー"))
    assert {"고양", "양이"} <= set(WITHOUT.tokens("고양이를"))
    assert set(WITHOUT.tokens("고양이")) < set(WITHOUT.tokens("고양이를"))


@pytest.mark.parametrize(
    "forms",
    [
        ("allergy", "allergies", "allergic"),
        ("strategy", "strategies", "strategic"),
        ("run", "runs", "running", "ran"),
        ("bake", "bakes", "baked", "baking"),
        ("stop", "stopped", "stopping"),
        ("paint", "painted", "painting", "paintings"),
        ("go", "went", "gone"),
        ("box", "boxes"),
        ("child", "children"),
    ],
)
def test_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize("word", ["bus", "glass", "this", "red", "need", "king", "sing", "café"])
def test_what_only_looks_like_a_form_is_left_alone(word: str) -> None:
    assert stem(word) == word


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzé", min_size=1))
def test_a_stem_is_never_empty(word: str) -> None:
    assert stem(word)


@pytest.mark.parametrize("broken", [None, ModuleType("jieba")], ids=["absent", "broken"])
def test_without_a_whole_jieba_han_text_has_no_words(
    broken: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jieba", broken)
    tokenizer = Tokenizer()
    tokenizer.dictionary()
    assert tokenizer.tokens("花生") == ["花生", "花", "生"]
    assert tokenizer.dictionary() is None


def test_loading_writes_no_file_and_says_nothing(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tokenizer = Tokenizer()
    tokenizer.dictionary()
    assert tokenizer.dictionary() is not None
    assert list(tmp_path.iterdir()) == []  # type: ignore[attr-defined]
    assert capfd.readouterr() == ("", "")


def test_threads_that_load_at_once_get_the_same_tokens() -> None:
    tokenizer = Tokenizer()
    answers: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: answers.append(tokenizer.tokens("图书馆周一闭馆")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [WITH_JIEBA.tokens("图书馆周一闭馆")] * 4
