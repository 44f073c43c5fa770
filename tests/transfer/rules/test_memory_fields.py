"""A memory as JSON fields, with the scope that it is kept in, and back."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    NO_TIME,
    Memory,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.json_fields import BadField
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope
from astrbot_plugin_scoped_memory.llm_memory.models.transfer import LineFault, MemoryRecord
from astrbot_plugin_scoped_memory.llm_memory.transfer.rules.format import (
    LineBroken,
    line_of,
    read_line,
)
from astrbot_plugin_scoped_memory.tests.vault.test_entry_round_trip import memories

pytestmark = pytest.mark.unit

FAMILY = Scope.parse("家人")
ONE = Memory("m-abcd", "奶奶对花生过敏", NO_TIME + timedelta(days=20_000))


@given(memories, st.sampled_from([FAMILY, PUBLIC]))
def test_a_memory_comes_back_from_its_fields_as_it_was(memory: Memory, scope: Scope) -> None:
    fields = json.loads(json.dumps(StoredMemory(scope, "entities.md", memory).to_dict()))
    assert (fields["memory_scope"], fields["path"]) == (scope.name, "entities.md")
    assert fields == memory.to_dict(memory_scope=scope.name) | {"path": "entities.md"}
    assert Memory.from_dict(fields) == memory


def test_only_the_judgment_must_be_said() -> None:
    assert Memory.from_dict({"judgment": "x"}) == Memory("", "x", NO_TIME)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("judgment", None),
        ("judgment", 7),
        ("id", "../x"),
        ("strength", 0),
        ("strength", True),
        ("kind", "密语"),
        ("created_at", "2026-01-01"),
        ("created_at", "gestern"),
        ("tags", ["a", 7]),
        ("trusted", "否"),
    ],
)
def test_a_bad_field_is_named(name: str, value: Any) -> None:
    with pytest.raises(BadField) as caught:
        Memory.from_dict(ONE.to_dict(memory_scope="家人") | {name: value})
    assert caught.value.name == name


@pytest.mark.parametrize("left_out", ["scope", "memory_scope"])
def test_a_line_with_one_of_the_two_names_of_the_scope_is_read(left_out: str) -> None:
    record = MemoryRecord("家人", "entities.md", ONE)
    fields = json.loads(line_of(record))
    del fields[left_out]
    assert read_line(json.dumps(fields)) == record


def test_a_line_that_names_two_scopes_is_refused() -> None:
    fields = json.loads(line_of(MemoryRecord("家人", "entities.md", ONE)))
    with pytest.raises(LineBroken) as caught:
        read_line(json.dumps(fields | {"memory_scope": "公司"}))
    assert (caught.value.fault, caught.value.detail) == (LineFault.WRONG, "memory_scope")
