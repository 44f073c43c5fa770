"""Drafts as teams write them: what lasts is published, a dispute, a guess and the stale are not.

``drafts.jsonl`` holds them as they came. The first two sets were written before the rules were
read, the third after the first mend, the fourth after the last one: its figures tell what to expect
of other words. No line of it may be reworded to pass.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final, TypedDict

import pytest

from astrbot_plugin_scoped_memory.llm_memory.decisions.rules.not_written import (
    objections,
    read_reference,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import Reference
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.lasting import passing

pytestmark = pytest.mark.unit

NOW: Final = datetime(2026, 11, 27, 18, 0, tzinfo=UTC)
DRAFTS: Final = Path(__file__).with_name("drafts.jsonl")


class Told(TypedDict, total=False):
    """A line of the file: a decision has a reason and a reference, a note has none."""

    set: str
    keep: bool
    kind: str
    text: str
    why: str
    ref: str


@cache
def drafts() -> tuple[Told, ...]:
    return tuple(json.loads(line) for line in DRAFTS.read_text("utf-8").splitlines())


def is_refused(draft: Told) -> bool:
    if draft["kind"] == "note":
        return bool([*passing(draft["text"], NOW, diary=True)])
    said = Memory("m-aaaa", draft["text"], NOW, reasoning=draft["why"])
    reference = read_reference(Reference(issue=draft["ref"].removeprefix("PR ")))
    assert reference is not None
    return bool(objections(said, PUBLIC, reference, NOW))


@pytest.mark.parametrize(
    ("name", "kept", "refused"),
    [("first", 54, 48), ("second", 18, 16), ("third", 18, 16), ("fourth", 18, 14)],
)
def test_what_lasts_is_kept_and_what_does_not_is_refused(
    name: str, kept: int, refused: int
) -> None:
    mine = [draft for draft in drafts() if draft["set"] == name]
    lost = [draft["text"] for draft in mine if draft["keep"] and is_refused(draft)]
    missed = [draft["text"] for draft in mine if not draft["keep"] and not is_refused(draft)]
    assert len(mine) == (120 if name == "first" else 40)
    assert len(mine) // 2 - len(lost) >= kept, lost
    assert len(mine) // 2 - len(missed) >= refused, missed
