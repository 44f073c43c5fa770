"""What an explanation says of a recall."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.core.replies.memory_line import why_text
from astrbot_plugin_scoped_memory.llm_memory import GIVEN_UP, Hit, Told, Trace
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Considered
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

NOW = datetime(2026, 11, 21, tzinfo=UTC)
PLACES = {
    "zh-CN": "家人、公共、大家的规则和决定、人格的笔记、这个私聊里听来的、这个私聊",
    "en-US": "family, public, rules and decisions for everybody, notes of the persona, "
    "what was heard in this private chat, this private chat",
}


@pytest.mark.parametrize("language", PLACES)
def test_places_are_said_in_words_and_a_broken_part_names_no_folder(language: str) -> None:
    home = "家人" if language == "zh-CN" else "family"
    hit = Hit("m-3", "facts.md#m-3", home, "x", "Ming", NOW, 0.9)
    shelves = ("@shared", "@role:cat", f"@person:{'8' * 32}", f"@person:{'9' * 32}")
    notes = [GIVEN_UP, "lexical: [Errno 28] full: '/srv/bot/index'"]
    trace = Trace((home, "public", *shelves, "dm-1002-pvlcfxw4jcl7iqbr"), notes=notes)
    trace.considered = (Considered(home, "m-3", 0.8, None),)
    told = Told("c", "q", NOW, trace, {"m-3": hit}, {"m-3": "m-5"})
    texts = Texts(language)
    said = why_text(texts, told, ["x"])
    assert said.splitlines()[1].endswith(PLACES[language])
    assert texts.say("explain.given_up") in said
    assert all(word in said for word in ("m-5", "lexical", "1. x"))
    assert "/srv" not in said
    assert language == "zh-CN" or not {*said} & {*"、；，。：（）"}
