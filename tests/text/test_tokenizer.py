"""Text to tokens: total, deterministic, and never across scripts."""

from __future__ import annotations

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.english import stem
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.tests.support.dictionary import digested_dictionary

pytestmark = pytest.mark.unit

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


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("花生过", ["花生", "生过", "花", "生", "过"]),
        ("v20261121 8443", ["v", "20261121", "8443"]),
        ("Привет, мир", ["привет", "мир"]),
        ("नमस्ते", ["नमस्ते"]),
        ("カフェ", ["カフェ", "カフ", "フェ", "カ", "フ", "ェ"]),
        ("고양이", ["고양", "양이", "고", "양", "이"]),
    ],
)
def test_without_jieba_han_gives_bigrams_and_digits_and_other_words_stay_whole(
    text: str, tokens: list[str]
) -> None:
    assert sorted(WITHOUT.tokens(text)) == sorted(tokens)


def test_chinese_gives_words_characters_and_pairs_that_the_dictionary_lacks() -> None:
    assert {"花生", "花", "生", "过敏"} <= set(WITH_JIEBA.tokens("奶奶對花生過敏"))
    assert "周会" in WITH_JIEBA.tokens("公司周五下午三点开周会")
    assert "周会" in WITH_JIEBA.query_tokens("週會是幾點")


FORMS = """
allergy allergies allergic / strategy strategies strategic / run runs running ran / go went gone /
bake bakes baked baking / stop stopped stopping / paint painted painting paintings / box boxes /
child children
"""


@pytest.mark.parametrize("forms", FORMS.split("/"))
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzé", min_size=1))
def test_a_stem_is_never_empty_and_what_only_looks_like_a_form_is_left_alone(word: str) -> None:
    assert stem(word)
    words = "bus glass this red need king sing café"
    assert " ".join(map(stem, words.split())) == words


@pytest.mark.parametrize("broken", [None, ModuleType("jieba")], ids=["absent", "broken"])
def test_without_a_whole_jieba_han_text_has_no_words(
    broken: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
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
