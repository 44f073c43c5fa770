"""What the panel holds, read once at load by ``_conf_schema.json``, which says of each setting its
type, default, options and bounds. A bad value becomes a warning, never an exception."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ..llm_memory import (
    DmScope,
    EngineSettings,
    GroupScope,
    LoopSettings,
    MigrationMode,
    Pace,
    PrivacyMode,
)
from ..llm_memory.errors import HomeError
from ..llm_memory.models.soul import SoulEvolution
from ..llm_memory.models.workflow import Workflow
from ..llm_memory.storage.toml_file import read_workflow
from ..llm_memory.texts import LANGUAGES, Said
from . import ROOT

MAP_KEY = "conversation_scope_map"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginConfig:
    """The panel's settings, parsed; what they mean stands in the schema. ``mcp_share`` is where
    coding agents may ask for memories; None where they may not."""

    enabled: bool
    language: str
    embedding: str
    auto_inject_topk: int
    inject_token_budget: int
    recall_tool_tokens: int
    recall_deadline_ms: int
    rerank_provider: str
    memory_root: Path | None
    inject_into_prompt: bool
    reflection_provider: str
    observe_groups: bool
    mcp_share: str | None
    engine: EngineSettings
    warnings: tuple[Said, ...]


def read_config(raw: object = None) -> PluginConfig:
    """The config of the panel, which may hold anything."""
    panel = _Panel(raw)
    own, loop, engine = map(panel.of, (PluginConfig, LoopSettings, EngineSettings))
    deadline, tokens = own["recall_deadline_ms"] / 1000, panel["reflection_daily_tokens"]
    for name in ("embedding", "reflection_provider"):
        own[name] = own[name] or "auto"
    english = own["language"] != LANGUAGES[0]
    workflow = _workflow(panel, english=english)
    if workflow is not None and workflow.topk is not None:
        own["auto_inject_topk"] = workflow.topk
    own["mcp_share"] = panel["mcp_share_address"] if own["mcp_share"] else None
    loop |= {
        # The panel's picker of providers offers no "off": no tokens means the same.
        "reads_turns": own["reflection_provider"] != "off" and tokens > 0,
        "daily_tokens": tokens,
        "after_turns": panel["reflect_after_turns"],
        "idle_minutes": panel["reflect_idle_minutes"],
        "english": english,
        "proposes": workflow is not None,
        "counts_manner": engine["soul_evolution"] is not SoulEvolution.OFF,
    }
    engine |= {
        "scope_map": dict(panel[MAP_KEY]),
        # What is left is for a search without vectors, and for writing the memories down.
        "load_seconds": deadline * 0.3,
        "embed_query_seconds": deadline * 0.6,
        "rerank_seconds": deadline * 0.4,
        "rerank_within_seconds": deadline * 0.9,
        "pace": Pace(query_seconds=deadline * 0.25),
        "loop": LoopSettings(**loop),
    }
    own["engine"] = EngineSettings(**engine)
    return PluginConfig(**own, warnings=tuple(dict.fromkeys(panel.warnings)))


@cache
def _schema() -> Mapping[str, Any]:
    """What is said of each setting, by its name; an advanced one stands in a table of its own."""
    schema: dict[str, Any] = json.loads((ROOT / "_conf_schema.json").read_text("utf-8"))
    advanced: dict[str, Any] = schema["advanced"]["items"]
    return schema | advanced


class _Panel:
    """The panel's settings by name; notes what was not usable. ``panel[name]`` is what is made of a
    value, of a number the nearest that the schema allows; else of the default."""

    def __init__(self, raw: object) -> None:
        self.warnings: list[Said] = []
        self._raw: dict[Any, Any] = dict(raw) if isinstance(raw, Mapping) else {}
        self._raw |= self["advanced"]

    def raw(self, name: str) -> Any:
        """What stands there, whatever it is; else the default."""
        return self._raw.get(name, _schema()[name].get("default", {}))

    def of(self, made: type) -> dict[str, Any]:
        """The fields of a record that are called as a setting is."""
        return {one.name: self[one.name] for one in fields(made) if one.name in _schema()}

    def warn(self, name: str, shown: str, used: object = "-") -> None:
        """``shown``: what the warning tells of the value; ``used``: what stands in for it."""
        dotted = f"advanced.{name}" if name in _schema()["advanced"]["items"] else name
        warning = Said("log.config_value", name=dotted, value=shown[:300], used=str(used) or "-")
        self.warnings.append(warning)

    def __getitem__(self, name: str) -> Any:
        item, value = _schema()[name], self.raw(name)
        if name in _ENTRIES:
            return self._table(name, value)
        wanted, default = _TYPES[item["type"]], item.get("default", {})
        made = _MADE.get(name, wanted)
        fits = isinstance(value, wanted) and isinstance(value, bool) is (wanted is bool)
        value = value.strip() if fits and wanted is str else value
        try:
            found = _if(fits and value in item.get("options", (value,)), value)
            if wanted is int:
                found = min(max(value, item["minimum"]), item["maximum"])
                if found != value:
                    self.warn(name, repr(value), found)
            return made(found)
        except (ValueError, RuntimeError):
            shown, closed = "…" if made is _server_address else repr(value), name in _CLOSED
            self.warn(name, shown, "-" if closed else default)
            return None if closed else made(default)

    def _table(self, name: str, given: object) -> Mapping[str, Any] | None:
        """What is made of each entry that is usable. Values of headers are secrets."""
        closed, found = name in _CLOSED, dict[str, object]()
        if not isinstance(given, Mapping):
            self.warn(name, type(given).__name__)
            return None if closed else found
        for given_key, value in given.items():
            key = str(given_key).strip()
            try:
                found[key] = _ENTRIES[name](key, value.strip() if isinstance(value, str) else "")
            except ValueError:
                self.warn(name, f"{key}: {'…' if name == 'chroma_headers' else repr(value)}")
                if closed:
                    found[key] = None
        return found


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
    parts = urlsplit(text)
    plain = re.fullmatch(r"https?://[A-Za-z0-9._:%\[\]-]+(/[^?#\s]*)?", text, re.IGNORECASE)
    served = plain and parts.hostname and parts.port != 0
    return _if(served, f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")) if text else ""


def _floor(text: str) -> float | None:
    """``auto`` or a number from 0 to 1; the panel sends either as text."""
    return None if text == "auto" else _if(0.0 <= float(text) < 1.0, float(text))


def _local_time(text: str) -> tuple[int, int] | None:
    """Hour and minute; None for an empty text, which is never."""
    found = re.fullmatch(r"([01]?[0-9]|2[0-3])[:：]([0-5][0-9])", text, re.ASCII)
    return (int(found[1]), int(found[2])) if found else _if(not text, None)


def _folder(text: str) -> Path | None:
    """A path, None for an empty text. Raises RuntimeError for an unknown ~somebody."""
    return Path(_if("\0" not in text, text)).expanduser() if text else None


def _collection(name: str) -> str:
    """Ours hold copies of a vault, which must never be taken for a person's memories."""
    return _if(not name or re.fullmatch(r"(?!memories-)[a-zA-Z0-9._-]{3,512}", name), name)


_TYPES: Final = {"bool": bool, "int": int, "string": str, "dict": dict, "object": dict}
_MADE: Final[Mapping[str, Callable[[str], object]]] = {
    "dm_scope": DmScope,
    "group_scope": GroupScope,
    "privacy_mode": PrivacyMode,
    "soul_evolution": SoulEvolution,
    "relevance_floor": _floor,
    "memory_root": _folder,
    "workflow_file": _folder,
    "chroma_url": _server_address,
    "model_mirror": _server_address,
    "chroma_collection": _collection,
    "migration_mode": MigrationMode,
    "sleep_at": _local_time,
}
_ENTRIES: Final[Mapping[str, Callable[[str, str], object]]] = {
    "dm_scope_by_account": lambda _, policy: DmScope(policy),
    "identity_links": _link,
    "chroma_headers": _header,
}
_CLOSED: Final = frozenset(
    ("dm_scope", "dm_scope_by_account", "group_scope", "chroma_url", "model_mirror")
)
"""What is not usable of them is None: nothing is published, and no other server is asked, because
of a typo."""


def _workflow(panel: _Panel, *, english: bool) -> Workflow | None:
    """What a ``workflow.toml`` says, None where no file is named or it cannot be used. Its root is
    not looked at."""
    path = panel["workflow_file"]
    if path is None:
        return None
    found = None
    try:
        found = read_workflow(path) if path.is_absolute() and str(path).isprintable() else None
        faults = found.warnings if found else (Said("workflow.missing", path=path),)
    except HomeError as error:
        faults = (error.said,)
    for said in faults:
        panel.warn("workflow_file", said.text("en" if english else "zh"))
    return found


class NotSaved(Exception):
    """The configuration could not be written, and stands as it was; empty where the panel saved
    another one meanwhile."""


class PanelMap:
    """AstrBot's own configuration of the plugin, the scope map above all: what the panel shows and
    saves. One change at a time: hold ``changing`` from reading to the end of saving."""

    def __init__(self, config: Any) -> None:
        """``config``: AstrBot's, None where the plugin was given none."""
        self._config: Any = {} if config is None else config
        self.changing = asyncio.Lock()

    def read(self) -> dict[str, object]:
        """The map as the panel has it now. What is no table is empty."""
        found = self._config.get(MAP_KEY)
        return dict(found) if isinstance(found, Mapping) else {}

    def all(self) -> dict[str, object]:
        """Every setting as the panel has it now."""
        return dict(self._config)

    async def save(self, changed: Mapping[str, object]) -> None:
        """Put these settings in the place of the former ones, for good. The panel saves into the
        same object, all settings at once: its last word stands. Raises NotSaved."""
        config = self._config
        before = {name: config[name] for name in changed if name in config}
        config.update(changed)
        try:
            await config.save_config_async()
        except Exception as error:
            for name in [name for name, value in changed.items() if config.get(name) is value]:
                del config[name]  # what the panel saved meanwhile stays
                if name in before:
                    config[name] = before[name]
            raise NotSaved(f"{type(error).__name__}: {error}"[:200]) from error
        if any(config.get(name) is not value for name, value in changed.items()):
            raise NotSaved
