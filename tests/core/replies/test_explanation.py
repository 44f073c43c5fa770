"""What an explanation says of a recall."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.core.replies.explanation import why_text
from astrbot_plugin_scoped_memory.llm_memory import (
    GIVEN_UP,
    Explained,
    Hit,
    Told,
    Trace,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Considered
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

NOW = datetime(2026, 11, 21, tzinfo=UTC)
FULL_WIDTH = set("、；，。：（）")


def explained(trace: Trace, *considered: Considered) -> Explained:
    return Explained(Told("c", "q", NOW, trace), tuple((one, None) for one in considered))


@pytest.mark.parametrize(
    ("language", "places"),
    [
        ("zh-CN", "家人、公共、大家的规则和决定、人格的笔记、这个私聊里听来的、这个私聊"),
        (
            "en-US",
            "家人, public, rules and decisions for everybody, notes of the persona, "
            "what was heard in this private chat, this private chat",
        ),
    ],
)
def test_places_are_said_in_words_and_lists_as_in_the_language(language: str, places: str) -> None:
    hit = Hit("m-3", "facts.md#m-3", "家人", "x", "Ming", NOW, 0.9, 5)
    shelves = ("@shared", "@role:cat", f"@person:{'8' * 32}", f"@person:{'9' * 32}")
    trace = Trace(scopes=("家人", "public", *shelves, "dm-1002-pvlcfxw4jcl7iqbr"))
    one = Considered("家人", "m-3", 1.0, 0.9, None, 0.8, None)
    told = Explained(Told("c", "q", NOW, trace), ((one, hit),), {"m-3": ("m-4", "m-5")})
    said = why_text(Texts(language), told, {"m-3": "x"})
    assert said.splitlines()[1].endswith(places)
    assert "m-5" in said
    if language == "en-US":
        assert not FULL_WIDTH & {*said}


def test_who_did_not_wait_is_not_told_that_nothing_was_found() -> None:
    texts = Texts("zh-CN")
    text = why_text(texts, explained(Trace(notes=(GIVEN_UP,))), {})
    assert texts.say("explain.given_up") in text
    assert texts.say("explain.attached_none") not in text.split("\n")


def test_what_a_broken_part_says_of_the_machine_is_told_to_admins_alone() -> None:
    trace = explained(Trace(notes=("lexical: [Errno 28] full: '/srv/bot/index'",)))
    assert "/srv/bot/index" in why_text(Texts("zh-CN"), trace, {}, admin=True)
    told = why_text(Texts("zh-CN"), trace, {})
    assert "lexical" in told
    assert "srv" not in told
