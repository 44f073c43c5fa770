"""What of the owner's settings a backup carries, and what comes back where something stands."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.core import ROOT
from astrbot_plugin_scoped_memory.llm_memory.transfer.rules.carried_settings import (
    carried,
    defaults_of,
    to_put_back,
    with_changes,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

DEFAULTS = defaults_of(json.loads((ROOT / "_conf_schema.json").read_text("utf-8")))
CONFIG = {
    "conversation_scope_map": {"a": "家人"},
    "dm_scope": "per-peer",
    "advanced": {
        "sleep_at": "03:00",
        "memory_root": "/data/here",
        "workflow_file": "/data/workflow.toml",
        "chroma_headers": {"Authorization": "secret"},
        "chroma_url": "http://me:secret@chroma:8000",
        "scope_filter_enabled": False,
        "mcp_share": True,
        "mcp_share_address": "0.0.0.0:9321",
    },
}


def test_every_setting_has_a_default_by_its_name() -> None:
    assert DEFAULTS["conversation_scope_map"] == {}
    assert DEFAULTS["advanced.sleep_at"] == "04:00"
    assert "advanced" not in DEFAULTS


def test_no_secret_no_place_of_this_machine_and_no_open_door_is_carried() -> None:
    assert carried(CONFIG) == {
        "conversation_scope_map": {"a": "家人"},
        "dm_scope": "per-peer",
        "advanced.sleep_at": "03:00",
    }
    assert carried({"advanced": {"chroma_url": "http://chroma:8000"}}) != {}


def test_what_the_owner_has_set_since_stays() -> None:
    now = {"conversation_scope_map": {"a": "公司", "b": "公司"}, "dm_scope": "main"}
    saved = {"conversation_scope_map": {"a": "家人", "c": "家人"}, "dm_scope": "per-peer"}
    assert to_put_back(saved, now, DEFAULTS) == {
        "conversation_scope_map": {"a": "公司", "b": "公司", "c": "家人"}
    }


def test_what_is_no_setting_or_of_another_kind_is_passed_over() -> None:
    saved = {"nonsense": 1, "dm_scope": 7, "conversation_scope_map": [], "enabled": 0}
    forbidden = {"advanced.memory_root": "/elsewhere", "advanced.chroma_headers": {"a": "b"}}
    forbidden |= {"advanced.scope_filter_enabled": False, "advanced.mcp_share": True}
    assert to_put_back({**saved, **forbidden}, {}, DEFAULTS) == {}


VALUES = st.one_of(st.text(max_size=3), st.integers(), st.booleans(), st.dictionaries(
    st.text(max_size=2), st.text(max_size=2), max_size=3
))  # fmt: skip
SETTINGS = st.dictionaries(st.sampled_from(sorted(DEFAULTS)), VALUES)


@given(saved=SETTINGS, now=SETTINGS)
def test_putting_back_twice_changes_nothing_more_and_drops_no_entry(
    saved: dict[str, object], now: dict[str, object]
) -> None:
    nested = with_changes({}, now)
    after = {**nested, **with_changes(nested, to_put_back(saved, nested, DEFAULTS))}
    assert to_put_back(saved, after, DEFAULTS) == {}
    for name, value in now.items():
        group, _, inner = name.rpartition(".")
        found = after[group][inner] if group else after[name]  # type: ignore[index]
        if isinstance(value, dict) and isinstance(found, dict):
            assert value.items() <= found.items()
        elif value != DEFAULTS[name]:
            assert found == value
