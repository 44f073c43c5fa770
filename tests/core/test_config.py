"""The panel may hold anything: a bad value is a warning that names the setting."""

from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.core import ROOT
from astrbot_plugin_scoped_memory.core.config import PluginConfig, read_config
from astrbot_plugin_scoped_memory.llm_memory import DmScope, GroupScope
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

SCHEMA: dict[str, Any] = json.loads((ROOT / "_conf_schema.json").read_text("utf-8"))
ADVANCED: dict[str, Any] = SCHEMA["advanced"]["items"]
DEFAULTS = read_config({})
NAMES = [*(name for name in SCHEMA if name != "advanced"), *(f"advanced.{n}" for n in ADVANCED)]

leaves = st.one_of(
    st.sampled_from(
        [None, True, False, 10**400, "auto", "~nobody-here/x", "~", "main", "per-peer"]
    ),
    *(st.sampled_from(["public", "\0", "0.5"]), st.integers(), st.floats(), st.text(max_size=20)),
)
few = {"max_size": 3}
json_values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, **few) | st.dictionaries(st.text(max_size=8), inner, **few),
    max_leaves=6,
)


def with_value(name: str, value: object) -> dict[str, object]:
    """A panel that holds one value."""
    head, _, tail = name.partition(".")
    return {head: {tail: value}} if tail else {head: value}


def told(config: PluginConfig, what: str) -> list[str]:
    """What each warning says of a name, a value or what is used."""
    return [str(dict(warning.params)[what]) for warning in config.warnings]


@pytest.mark.parametrize("raw", [None, {}, [], 7, "x"])
def test_no_panel_means_the_defaults(raw: Any) -> None:
    assert read_config(raw) == DEFAULTS


@given(
    st.dictionaries(st.sampled_from([*SCHEMA, "unknown"]), json_values),
    json_values | st.dictionaries(st.sampled_from(list(ADVANCED)), json_values),
)
def test_no_panel_makes_it_raise(raw: dict[str, Any], advanced: object) -> None:
    config = read_config(raw | {"advanced": advanced})
    assert config.language in LANGUAGES
    assert 0 <= config.auto_inject_topk <= 20
    assert 50 <= config.recall_deadline_ms <= 60_000
    floor = config.engine.relevance_floor
    assert floor is None or 0 <= floor < 1
    assert config.engine.dm_scope in (None, *DmScope)
    assert config.engine.group_scope in (None, *GroupScope)
    assert config.embedding
    assert {*told(config, "name")} <= {*NAMES, "advanced"}
    assert all(len(value) <= 300 for value in told(config, "value"))


BAD: dict[str, list[object]] = {
    "enabled": ["false"],
    "conversation_scope_map": [[], "x", None],
    "dm_scope": ["perpeer", None],
    "advanced.dm_scope_by_account": [[], {"qq": "per-per"}, {"qq": ""}],
    "soul_evolution": ["on", []],
    "identity_links": [[], {"aiocqhttp:1": 7}, {"10001": "小明"}, {"aiocqhttp:1": " "}],
    "embedding": [7],
    "auto_inject_topk": [21, "3", 2.5, True, float("inf"), float("nan"), 10**400],
    "language": ["zh", []],
    "advanced": ["x"],
    "advanced.relevance_floor": ["high", 1.0, -0.1, "nan", False, 10**400],
    "advanced.memory_root": [7, "~nobody-has-this-name/memory", "a\0b"],
    "advanced.workflow_file": [7, "workflow.toml", "/nowhere/workflow.toml", "a\0b"],
    "advanced.sleep_at": ["25:00", "4", "04:60", 4, "٠٤:٠٠"],
    "advanced.model_mirror": ["hf-mirror.com"],
    "advanced.chroma_url": [
        "localhost", "http://:8000", "http://127.0.0.1:99999", "http://me:secret@127.0.0.1",
        "http://127.0.0.1/?key=secret", "http://127.0.0.1:8000 # mine", "http://[::1", 8000,
    ],
    "advanced.chroma_headers": [
        "secret", {"Authorization": "secret 密"}, {"Authorization": "secret\r\nX-More: 1"},
        {"Authorization": ""}, {"Authorization": 7}, {"Author ization": "secret"},
        {"认证": "secret"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_a_bad_value_is_a_warning_that_names_the_setting(name: str, value: object) -> None:
    config = read_config(with_value(name, value))
    assert told(config, "name") == [name]
    assert all(told(config, "used"))  # the sentence ends with it
    assert "secret" not in repr(config.warnings)


RAW = {"a:GroupMessage:1": "家人", "b": 7, "c": None}
ACCOUNTS = {" qq ": "per-peer", "tg": " main ", "wx": "perpeer", "web": 7}
LINKS = {" aiocqhttp:10001 ": " 小明 ", "bad": "x"}
HEADERS = {" X-Key ": " s3cret with blanks ", "X-Bad": "s3cret\n", "X-Worse": "s3crét"}
EACH, LOCAL = "per-account-channel-peer", "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("name", "value", "setting", "used"),
    [
        # A number out of range takes the nearest, what is none the default.
        ("auto_inject_topk", 99, "", 20),
        ("auto_inject_topk", -3, "", 0),
        ("auto_inject_topk", "x", "", 3),
        ("advanced.relevance_floor", "0.4", "engine.relevance_floor", 0.4),
        # A policy that nobody knows is none and not the default: it publishes nothing.
        ("dm_scope", "per-per", "engine.dm_scope", None),
        ("group_scope", "perGroup", "engine.group_scope", None),
        ("dm_scope", EACH, "engine.dm_scope", DmScope.PER_ACCOUNT_CHANNEL_PEER),
        ("advanced.dm_scope_by_account", "x", "engine.dm_scope_by_account", None),
        # An account with a bad policy is none, is named, and the others are taken.
        (
            "advanced.dm_scope_by_account",
            ACCOUNTS,
            "engine.dm_scope_by_account",
            {"qq": DmScope.PER_PEER, "tg": DmScope.MAIN, "wx": None, "web": None},
        ),
        # The map is handed on raw, and one of the wrong type as an empty one.
        ("conversation_scope_map", RAW, "engine.scope_map", RAW),
        *(("conversation_scope_map", bad, "engine.scope_map", {}) for bad in ([], "x", 7, True)),
        ("identity_links", LINKS, "engine.identity_links", {"aiocqhttp:10001": "小明"}),
        ("embedding", " lexical ", "", "lexical"),
        ("language", "en-US", "engine.loop.english", True),
        ("advanced.memory_root", " /data/记忆 ", "memory_root", Path("/data/记忆")),
        # A server that cannot be meant is none and not the default.
        ("advanced.chroma_url", "", "engine.chroma_url", ""),
        ("advanced.chroma_url", " http://127.0.0.1:8000/ ", "engine.chroma_url", LOCAL),
        ("advanced.chroma_url", "http://[::1]:8000", "engine.chroma_url", "http://[::1]:8000"),
        ("advanced.chroma_url", "HTTP://Chroma:8000", "engine.chroma_url", "http://Chroma:8000"),
        ("advanced.chroma_url", "chroma:8000", "engine.chroma_url", None),
        # One bad header costs the others nothing.
        (
            "advanced.chroma_headers",
            HEADERS,
            "engine.chroma_headers",
            {"X-Key": "s3cret with blanks", "X-Bad": "s3cret"},
        ),
        # The hour of the night is a local time or never.
        ("advanced.sleep_at", "4:05", "engine.loop.sleep_at", (4, 5)),
        ("advanced.sleep_at", "23：59", "engine.loop.sleep_at", (23, 59)),
        ("advanced.sleep_at", " 0:00 ", "engine.loop.sleep_at", (0, 0)),
        ("advanced.sleep_at", "", "engine.loop.sleep_at", None),
        ("advanced.sleep_at", "nachts", "engine.loop.sleep_at", (4, 0)),
        # No tokens a day switch reading off as the word off does.
        ("reflection_provider", " off ", "engine.loop.reads_turns", False),
        ("reflection_daily_tokens", 0, "engine.loop.reads_turns", False),
        ("advanced.reflect_idle_minutes", 60, "engine.loop.idle_minutes", 60.0),
        ("advanced.rerank_provider", " my-reranker ", "rerank_provider", "my-reranker"),
    ],
)
def test_what_is_made_of_a_value(name: str, value: object, setting: str, used: object) -> None:
    config = read_config(with_value(name, value))
    assert attrgetter(setting or name)(config) == used
    assert "s3cr" not in repr(config)
    if value is ACCOUNTS:
        assert told(config, "value") == ["wx: 'perpeer'", "web: 7"]


SAID = {"zh-CN": "没有这个键", "en-US": "unknown key"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("text", "number", "is_read", "faulty"),
    [
        ("[memory]\nroot = 'D:\\theirs'\nauto_inject_topk = 9\n", 9, True, False),
        ("[roles]\nenabled = ['qa']\n[memory]\nlayuot = 1\n", 5, True, True),
        ("[memory", 5, False, True),
        ("[tool]\n", 5, False, True),
    ],
)
def test_a_workflow_file_counts_for_what_is_injected_and_its_root_is_not_looked_at(
    tmp_path: Path, language: str, text: str, number: int, is_read: bool, faulty: bool
) -> None:
    file = tmp_path / "workflow.toml"
    file.write_text(text, "utf-8")
    panel = {"language": language, "auto_inject_topk": 5, "advanced": {"workflow_file": str(file)}}
    config = read_config(panel)
    assert (config.auto_inject_topk, config.memory_root) == (number, None)
    assert config.engine.loop.proposes is is_read
    assert len(config.warnings) == faulty
    for value in told(config, "value"):
        assert (SAID[language] if is_read else str(file)) in value
