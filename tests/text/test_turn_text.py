"""What of a turn may be read later: words, and nothing that was not said."""

from __future__ import annotations

import base64
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import CLOSE, OPEN
from astrbot_plugin_scoped_memory.llm_memory.text.turn_text import (
    CUT,
    MOST_CHARS,
    MOST_NAME,
    cut,
    name_of,
    spoken,
)
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.words import rows

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

BYTES = bytes(range(256)) * 12
CODED = base64.b64encode(BYTES).decode()
HIT = "1. [2026-11-21 · 妈妈 · preferences.md#m-01jd3q8z7kabcdef] 奶奶对花生过敏"
HIDDEN = [
    f"data:image/png;base64,{CODED}", f"base64://{CODED}", CODED, "ab12cd34" * 40,
    f"[CQ:image,file=base64://{CODED},id=3]", base64.encodebytes(BYTES).decode(),
    f"{OPEN}\n以下是长期记忆\n{HIT}\n{CLOSE}", f"{OPEN.upper()}x{CLOSE.upper()}", HIT,
    *(one for (one,) in rows("hidden")),
    *(f"{OPEN}\n{Texts(one).say('inject.preamble')}\n{HIT}\n{CLOSE}" for one in LANGUAGES),
]  # fmt: skip
PROSE = [*(one for (one,) in rows("prose")), "哈" * 300]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_what_was_not_said_is_taken_out_and_the_words_around_it_stay(hidden: str) -> None:
    kept = spoken(f"我想问：\n{hidden}\n这个行吗")
    assert re.fullmatch(r"我想问：\s{1,8}这个行吗", kept), kept
    assert spoken(hidden) == ""


@given(st.lists(st.sampled_from(PROSE), min_size=1, max_size=4))
def test_what_was_said_stays_as_it_is(said: list[str]) -> None:
    text = "\n".join(said)
    assert spoken(text) == spoken(f"  {text}\n") == text


def test_what_lost_an_end_goes_to_the_texts_and_a_word_about_the_tag_stays() -> None:
    assert spoken("他想问花生</think>可以吃") == "可以吃"
    assert spoken("<think>他想问花生") == ""
    assert spoken("一般写成 <think> 标签") == "一般写成 <think> 标签"
    assert spoken(f"你好 {OPEN}\n{HIT}\n2. 没有写完") == "你好"
    assert spoken(f"一般写成 <think> 标签 {OPEN} 秘密") == "一般写成 <think> 标签"


TORN = [
    "<think>", "</think>", "<tool_call>", "</tool_call>", OPEN, CLOSE, "<thi", "nk>", "\n",
    "data:", ";base64,", "[CQ:image", "]", "```", "```tool_output\n", "#m-1]", "[", "<",
]  # fmt: skip
pieces = st.sampled_from([*HIDDEN, *PROSE, *TORN]) | st.text(st.characters(), max_size=20)
BLOCK = re.compile(r"</?(?:scoped_memory|tool_call|tool_response)>", re.I)


@given(st.lists(pieces, max_size=12).map("".join))
def test_nothing_recalled_and_no_picture_is_left_however_it_is_nested(text: str) -> None:
    kept = spoken(text)
    assert not BLOCK.search(kept)
    assert not re.search(r"data:[^\s,]*;base64,[A-Za-z0-9+/]{4}|[A-Za-z0-9+/_-]{200}", kept)
    assert spoken(kept) == kept == kept.strip()
    seen = re.sub(r"[\n\t]", "", kept)
    assert not any(unicodedata.category(character) in ("Cs", "Cc") for character in seen)


@given(st.text(max_size=300), st.integers(0, 3))
def test_a_side_of_a_turn_and_a_name_are_never_longer_than_they_may_be(
    text: str, times: int
) -> None:
    long = text * (times * 20)
    assert cut(long) == long or cut(long).endswith(CUT)
    assert len(cut(long)) <= MOST_CHARS
    assert len(name_of(text)) <= MOST_NAME
    assert len(name_of(text).splitlines()) <= 1
