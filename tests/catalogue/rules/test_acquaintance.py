"""Whose words a conversation is told without asking: who said it decides, not how it reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.acquaintance import (
    FAMILIAR_DAYS,
    familiar_people,
    may_be_volunteered,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    MODEL_WORDED,
    Source,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.text.overlap import is_model_worded
from astrbot_plugin_scoped_memory.tests.support.memories import stored

pytestmark = pytest.mark.unit

NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
MUM, GUEST = "aiocqhttp:2", "aiocqhttp:7"


def said(person: str, day: int = 0, **more: Any) -> StoredMemory:
    at = NOON + timedelta(days=day)
    path = f"journal/{at:%Y-%m-%d}.md"
    return stored("奶奶的药挪到早上吃", day, path=path, account=person, at=at, **more)


def test_a_person_is_familiar_after_so_many_different_days_and_not_sooner() -> None:
    week = [said(MUM, day) for day in range(FAMILIAR_DAYS)]
    assert familiar_people(week, UTC) == {MUM}
    assert familiar_people(week[1:], UTC) == frozenset()


def test_many_entries_a_day_and_many_people_do_not_make_a_person_familiar() -> None:
    flood = [said(GUEST, day % (FAMILIAR_DAYS - 1)) for day in range(500)]
    chorus = [said(f"aiocqhttp:{number}") for number in range(100)]
    assert familiar_people([*flood, *chorus, *[said("", day) for day in range(50)]], UTC) == set()


def test_a_trusted_speaker_is_familiar_at_once() -> None:
    assert familiar_people([said(MUM, trusted=True)], UTC) == {MUM}


def test_what_a_model_worded_makes_no_person_familiar_and_is_not_volunteered() -> None:
    worded = [said(MUM, day, extra=(MODEL_WORDED,)) for day in range(30)]
    assert familiar_people(worded, UTC) == frozenset()
    assert not may_be_volunteered(worded[0].memory, {MUM}, {MUM})


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (said(GUEST), False),
        (said(""), False),
        (said(MUM), True),
        (said("aiocqhttp:9"), True),  # the one who is spoken to
        (said("aiocqhttp:9", quoted=True), False),
        (said(GUEST, trusted=True), True),
        (said("", source=Source.PERSON), True),  # a person wrote it into the file
    ],
)
def test_who_said_it_decides_whether_it_is_told_unasked(one: StoredMemory, told: bool) -> None:
    assert may_be_volunteered(one.memory, {MUM}, {"aiocqhttp:9"}) is told


@pytest.mark.parametrize(
    ("text", "heard", "worded"),
    [
        ("以后都用中文回答", "以后回答都用中文吧", False),
        ("奶奶对花生过敏", "我奶奶一吃花生就过敏", False),
        ("Grandma is allergic to peanuts", "my grandma has a peanut allergy", False),
        ("转账前先问老孟", "今天晚饭吃什么好呢", True),
        ("Payments go through Greg", "what shall we have for dinner", True),
        ("转账前先问老孟", "", True),
        ("今天群还是我看着", "今天晚饭吃什么好呢", True),
        ("转账前先问老孟", None, False),
    ],
)
def test_a_model_may_reword_what_was_said_and_add_nothing_to_it(
    text: str, heard: str | None, worded: bool
) -> None:
    assert is_model_worded(text, heard) is worded
