"""What the panel holds, read once at load by ``_conf_schema.json``, which says of each setting its
type, default, options and bounds. A bad value becomes a warning, never an exception."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..llm_memory import (
    DmScope,
    EngineSettings,
    GroupScope,
    IndexPace,
    LoopSettings,
    MigrationMode,
    PrivacyMode,
    WalkPace,
)
from ..llm_memory.errors import HomeError
from ..llm_memory.models.soul import SoulEvolution
from ..llm_memory.models.workflow import Workflow
from ..llm_memory.storage.workflow_file import read_workflow
from ..llm_memory.texts import LANGUAGES, Said
from .plugin_names import ROOT

_SHOWN = 300
"""Characters of a value in a warning."""
_AS_THEY_ARE = (
    "enabled", "language", "inject_token_budget", "recall_tool_tokens", "recall_deadline_ms",
    "rerank_provider", "inject_into_prompt", "observe_groups",
)  # fmt: skip
_OF_THE_ENGINE = ("scope_filter_enabled", "preview_chars", "migration_paused", "adopt_legacy")
_OF_THE_LOOP = ("prime_after_hours", "prime_tokens", "backups_keep")


class ConfigWarning(NamedTuple):
    """A value that was not usable. ``used`` is what stands in for it."""

    name: str
    value: str
    used: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginConfig:
    """The panel's settings, parsed; what they mean stands in the schema.

    Attributes:
        workflow: What the ``workflow.toml`` that is named says. Its root is not looked at.
        reflection_provider: A provider's id, or ``auto`` for the conversation's own model.
        mcp_share: Where coding agents may ask for memories; None where they may not.
    """

    enabled: bool
    language: str
    embedding: str
    auto_inject_topk: int
    inject_token_budget: int
    recall_tool_tokens: int
    recall_deadline_ms: int
    rerank_provider: str
    memory_root: Path | None
    workflow: Workflow | None
    inject_into_prompt: bool
    reflection_provider: str
    observe_groups: bool
    mcp_share: str | None
    engine: EngineSettings
    warnings: tuple[ConfigWarning, ...]


def read_config(raw: object = None) -> PluginConfig:
    """The config of the panel, which may hold anything."""
    panel = _Panel(raw)
    deadline, scope_map = panel["recall_deadline_ms"] / 1000, panel.raw("conversation_scope_map")
    reader, tokens = panel["reflection_provider"] or "auto", panel["reflection_daily_tokens"]
    english, evolution = panel["language"] != LANGUAGES[0], SoulEvolution(panel["soul_evolution"])
    workflow = _workflow(panel, english=english)
    topk = None if workflow is None else workflow.topk
    engine = EngineSettings(
        # What is no map at all is None, and the engine's to tell.
        scope_map=dict(scope_map) if isinstance(scope_map, Mapping) else None,
        dm_scope=panel.read("dm_scope", DmScope),
        # None for a value that is no policy, and for what is no table: nothing is published
        # because of a typo.
        dm_scope_by_account=panel.table("dm_scope_by_account", lambda _, policy: DmScope(policy)),
        group_scope=panel.read("group_scope", GroupScope),
        identity_links=_usable(panel.table("identity_links", _link)),
        relevance_floor=panel.read("relevance_floor", _floor),
        # What is left is for a search without vectors, and for writing the memories down.
        load_seconds=deadline * 0.3,
        embed_query_seconds=deadline * 0.6,
        rerank_seconds=deadline * 0.4,
        rerank_within_seconds=deadline * 0.9,
        pace=IndexPace(query_seconds=deadline * 0.25),
        # Another server would build another index, somewhere else, because of a typo.
        chroma_url=panel.read("chroma_url", _server_address),
        chroma_headers=_usable(panel.table("chroma_headers", _header)),
        chroma_collection=panel.read("chroma_collection", _collection) or "",
        model_mirror=panel.read("model_mirror", _server_address),
        migration_mode=MigrationMode(panel["migration_mode"]),
        walk_pace=WalkPace(batch=panel["migration_batch"]),
        privacy_mode=PrivacyMode(panel["privacy_mode"]),
        soul_evolution=evolution,
        loop=LoopSettings(
            # The panel's picker of providers offers no "off": no tokens means the same.
            reads_turns=reader != "off" and tokens > 0,
            daily_tokens=tokens,
            after_turns=panel["reflect_after_turns"],
            idle_minutes=panel["reflect_idle_minutes"],
            sleep_at=panel.read("sleep_at", _local_time, instead=(4, 0)),
            english=english,
            proposes=workflow is not None,
            counts_manner=evolution is not SoulEvolution.OFF,
            **{name: panel[name] for name in _OF_THE_LOOP},
        ),
        **{name: panel[name] for name in _OF_THE_ENGINE},
    )
    return PluginConfig(
        embedding=panel["embedding"] or "auto",
        auto_inject_topk=panel["auto_inject_topk"] if topk is None else topk,
        memory_root=panel.read("memory_root", _folder),
        workflow=workflow,
        reflection_provider=reader,
        mcp_share=panel["mcp_share_address"] if panel["mcp_share"] else None,
        engine=engine,
        **{name: panel[name] for name in _AS_THEY_ARE},
        warnings=tuple(dict.fromkeys(panel.warnings)),
    )


@cache
def _schema() -> Mapping[str, Any]:
    """What is said of each setting, by its name; an advanced one stands in a table of its own."""
    schema: dict[str, Any] = json.loads((ROOT / "_conf_schema.json").read_text("utf-8"))
    advanced: dict[str, Any] = schema["advanced"]["items"]
    return schema | advanced


class _Panel:
    """The panel's settings by name; notes what was not usable. ``panel[name]`` is the value if it
    is what the schema says, a number the nearest that is, else the schema's default."""

    def __init__(self, raw: object) -> None:
        self.warnings: list[ConfigWarning] = []
        self._raw: dict[Any, Any] = dict(raw) if isinstance(raw, Mapping) else {}
        self._raw |= self["advanced"]

    def warn(self, name: str, shown: str, used: object = "-") -> None:
        """``shown``: what the warning tells of the value."""
        dotted = f"advanced.{name}" if name in _schema()["advanced"]["items"] else name
        self.warnings.append(ConfigWarning(dotted, shown[:_SHOWN], str(used)))

    def raw(self, name: str) -> Any:
        """What stands there, whatever it is; else the default."""
        return self._raw.get(name, _schema()[name].get("default", {}))

    def __getitem__(self, name: str) -> Any:
        item, value = _schema()[name], self.raw(name)
        default = item.get("default", {})
        wanted = {"bool": bool, "int": int, "string": str}.get(item["type"])
        if wanted is int and isinstance(value, float) and value.is_integer():
            value = int(value)
        fits = isinstance(value, Mapping) if wanted is None else type(value) is wanted
        if not fits or ("options" in item and value not in item["options"]):
            self.warn(name, repr(value), default)
            return default
        if wanted is int:
            used = min(max(value, item["minimum"]), item["maximum"])
            if used != value:
                self.warn(name, repr(value), used)
            return used
        return value.strip() if wanted is str else value

    def read[T](
        self, name: str, made: Callable[[str], T | None], *, instead: T | None = None
    ) -> T | None:
        """What is ``made`` of a text, else ``instead``. Who writes a password into an address has
        not written it for the log."""
        value = self.raw(name)
        try:
            return made(value.strip())
        except (ValueError, RuntimeError, AttributeError):
            shown = "…" if made is _server_address else repr(value)
            told = shown if isinstance(value, str) else type(value).__name__
            self.warn(name, told, _schema()[name]["default"] if instead is not None else "-")
            return instead

    def table[T](self, name: str, made: Callable[[str, str], T]) -> dict[str, T | None] | None:
        """What is ``made`` of each entry, None where that raises ValueError; None for what is no
        table. Values of headers are secrets, and shown nowhere."""
        given = self.raw(name)
        if not isinstance(given, Mapping):
            self.warn(name, type(given).__name__)
            return None
        found: dict[str, T | None] = {}
        for given_key, value in given.items():
            key = str(given_key).strip()
            try:
                found[key] = made(key, value.strip() if isinstance(value, str) else "")
            except ValueError:
                found[key] = None
                self.warn(name, f"{key}: {'…' if made is _header else repr(value)}")
        return found


def _usable(table: Mapping[str, str | None] | None) -> dict[str, str]:
    return {key: value for key, value in (table or {}).items() if value is not None}


def _if[T](usable: object, value: T) -> T:
    """The value. Raises ValueError where it is not usable."""
    if not usable:
        raise ValueError(value)
    return value


def _link(person: str, name: str) -> str:
    return _if(name and ":" in person, name)


def _header(name: str, value: str) -> str:
    plain = re.fullmatch(r"[!-~](?:[ -~]*[!-~])?", value)
    return _if(plain and re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}", name), value)


def _server_address(text: str) -> str:
    """A server's URL without what we would not use; empty for none."""
    if not text:
        return ""
    parts = urlsplit(text)
    plain = re.fullmatch(r"https?://[A-Za-z0-9._:%\[\]-]+(/[^?#\s]*)?", text, re.IGNORECASE)
    served = plain and parts.hostname and parts.port != 0
    return _if(served, f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/"))


def _floor(text: str) -> float | None:
    """``auto`` or a number from 0 to 1; the panel sends either as text."""
    return None if text == "auto" else _if(0.0 <= float(text) < 1.0, float(text))


def _local_time(text: str) -> tuple[int, int] | None:
    """Hour and minute; None for an empty text, which is never."""
    found = re.fullmatch(r"([01]?[0-9]|2[0-3])[:：]([0-5][0-9])", text, re.ASCII)
    return (int(found[1]), int(found[2])) if found else _if(not text, None)


def _folder(text: str) -> Path | None:
    """A folder's path, None for the default one. Raises RuntimeError for an unknown ~somebody."""
    return Path(_if("\0" not in text, text)).expanduser() if text else None


def _collection(name: str) -> str:
    """Ours hold copies of a vault, which must never be taken for a person's memories."""
    return _if(not name or re.fullmatch(r"(?!memories-)[a-zA-Z0-9._-]{3,512}", name), name)


def _workflow(panel: _Panel, *, english: bool) -> Workflow | None:
    """What a ``workflow.toml`` says, None where no file is named or it cannot be used."""
    path = panel.read("workflow_file", _folder)
    if path is None:
        return None
    try:
        found = read_workflow(path) if path.is_absolute() and str(path).isprintable() else None
        faults = found.warnings if found else (Said("workflow.missing", path=path),)
    except HomeError as error:
        found, faults = None, (error.said,)
    for said in faults:
        panel.warn("workflow_file", said.text("en" if english else "zh"))
    return found
