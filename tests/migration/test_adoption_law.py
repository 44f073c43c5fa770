"""Whatever other plugins left: every record ends in one of four ways, every judgment that is not
broken is found in its scope, and nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.migration.rules.legacy_plan import plan
from astrbot_plugin_scoped_memory.llm_memory.migration.rules.legacy_records import (
    Foreign,
    judge,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
LEGAL = {"public", "家人", "work-1", "Home"}
ILLEGAL = ["a b", "../x", 7, True, "dm-1", "quarantine", "con", "", "  ", None, "home"]
WORDS = [
    "喜欢猫",
    "喜欢狗",
    "## 假条目 ^m-01jd3q8z7kab",
    "半\udce5个",
    " ",
    "",
    "a · 可信：是",
    "长" * 3000,
]

scopes = st.one_of(st.sampled_from(sorted(LEGAL)), st.sampled_from(ILLEGAL))
anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["80", "{", "2025-01-01", 1.75e9, 1.75e12, 4e9]),
)  # fmt: skip
metadata = st.fixed_dictionaries(
    {},
    optional={
        "judgment": st.one_of(st.sampled_from(WORDS), st.text(max_size=6)),
        "memory_scope": scopes,
        "reasoning": st.one_of(st.sampled_from(WORDS), anything),
        "tags": anything,
        "strength": anything,
        "is_active": anything,
        "created_at": anything,
        "associations": anything,
        "memory_type": anything,
        "x": anything,
    },
)
records = st.builds(
    Foreign,
    source=st.sampled_from(["angel_memory/a", "angel_memory/b"]),
    record_id=st.sampled_from(["u1", "u2", "u3", "u,4"]),
    document=st.one_of(st.none(), st.sampled_from(WORDS), st.sampled_from(["喜欢猫,  猫, 狗"])),
    fields=st.one_of(st.none(), metadata),
    later=st.booleans(),
)


def stated_scope(fields: Mapping[str, object] | None) -> object:
    """What the record says of its scope; None where it is older than scopes."""
    name = (fields or {}).get("memory_scope")
    return None if isinstance(name, str) and not name.strip() else name


UNSCOPED = Foreign("angel_memory/a", "u1", None, {"judgment": "喜欢猫"})
ILLEGALLY = Foreign("angel_memory/b", "u2", None, {"judgment": "喜欢猫", "memory_scope": "a b"})


OPENLY = Foreign("angel_memory/a", "u1", None, {"judgment": "喜欢猫", "memory_scope": "public"})
PRIVATELY = Foreign("angel_memory/b", "u2", None, {"judgment": "喜欢猫", "memory_scope": "家人"})
LATER = replace(PRIVATELY, later=True)


@settings(max_examples=max(5, settings().max_examples // 2))
@example([UNSCOPED, ILLEGALLY])
@example([OPENLY, PRIVATELY])
@example([OPENLY, LATER])
@example([OPENLY, LATER, replace(OPENLY, later=True)])
@given(st.lists(records, max_size=12))
def test_the_four_numbers_add_up_and_every_judgment_is_in_its_scope_and_nowhere_else(
    foreign: list[Foreign],
) -> None:
    judged = [(str(number), judge(record, NOW)) for number, record in enumerate(foreign)]
    made = plan(judged, scopes=["Home"])
    fates = Counter(one.fate for one in made.planned)
    assert fates.total() == len(foreign) == len(made.planned)
    assert fates["adopted"] + fates["quarantined"] == len(made.memories)

    places: dict[str, set[str]] = {}
    for (scope, _), memory in made.memories.items():
        places.setdefault(memory.judgment, set()).add(scope)
    later: dict[str, set[str]] = {}
    for (_, what), record, one in zip(judged, foreign, made.planned, strict=True):
        if record.later and one.fate != "broken":
            scope = stated_scope(record.fields)
            own = "public" if scope is None else scope if scope in LEGAL else "quarantine"
            if own != "quarantine":
                later.setdefault(what.memory.judgment, set()).add(str(own))  # type: ignore[union-attr]
    expected: dict[str, set[str]] = {}
    unstated: set[str] = set()
    for (_, what), record, one in zip(judged, foreign, made.planned, strict=True):
        if one.fate == "broken":
            continue
        judgment = what.memory.judgment  # type: ignore[union-attr]
        scope = stated_scope(record.fields)
        filled_in = scope == "public" and "public" not in later.get(judgment, {"public"})
        if not record.later and (scope is None or filled_in):
            unstated.add(judgment)
        else:
            own = scope if scope in LEGAL and isinstance(scope, str) else "quarantine"
            expected.setdefault(judgment, set()).add("public" if scope is None else own)
    for judgment in unstated - set(expected):
        expected[judgment] = {"public"}
    assert places == expected
