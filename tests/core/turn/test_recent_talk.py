"""What was said a moment ago: whose, where, and for how long."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.core.turn.recent_talk import RecentTalk, Said
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.talk import MOST_LINES
from astrbot_plugin_scoped_memory.tests.support.engines import group, private

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SAID = Said("小刚换工作了", "去哪了？", NOW, "view", "c1")


def heard(talk: RecentTalk, where: object = None, person: str = "a:1", history: str = "c1") -> str:
    place = group(777) if where is None else where
    return " ".join(line.text for line in talk.before(place, person, history))  # type: ignore[arg-type]


def test_it_is_one_persons_in_one_conversation_history_and_persona() -> None:
    talk = RecentTalk()
    talk.note(group(777), "a:1", SAID)
    assert heard(talk) == "小刚换工作了 去哪了？"
    assert heard(talk, person="a:2") == ""
    assert heard(talk, group(778)) == ""
    assert heard(talk, group(777, persona="猫娘")) == ""
    assert heard(talk, history="c2") == ""


def test_it_keeps_the_last_turns_and_lets_go_of_them_when_told() -> None:
    talk = RecentTalk()
    for number in range(MOST_LINES + 2):
        talk.note(private(1), "a:1", replace(SAID, words=f"第{number}句", reply=""))
    assert heard(talk, private(1)) == "第2句 第3句 第4句"
    talk.clear(private(1))
    assert heard(talk, private(1)) == ""


def test_it_keeps_nothing_of_nobody_and_nothing_unseen() -> None:
    talk = RecentTalk()
    talk.note(group(777), "", SAID)
    talk.note(group(777), "a:1", replace(SAID, view=""))
    assert heard(talk) == heard(talk, person="") == ""


def test_it_keeps_no_recalled_text() -> None:
    talk = RecentTalk()
    reply = "<scoped_memory>1. 秘密</scoped_memory>他在上海"
    talk.note(group(777), "a:1", replace(SAID, reply=reply))
    assert heard(talk) == "小刚换工作了 他在上海"
