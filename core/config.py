"""What the panel holds, read once at load by ``_conf_schema.json``, which says of each setting its
type, default, options and bounds. A bad value becomes a warning, never an exception."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
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

_LOADING_SHARE = 0.3
_EMBEDDING_SHARE = 0.6
_INDEX_SHARE = 0.25
_RERANK_SHARE = 0.4
_RERANKED_BY = 0.9
"""Of the deadline; the rest is for a search without vectors, and for writing the memories down."""
_HOST = re.compile(r"[A-Za-z0-9._:%-]+")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_TIME = re.compile(r"([01]?[0-9]|2[0-3])[:：]([0-5][0-9])", re.ASCII)
_COLLECTION = re.compile(r"[a-zA-Z0-9._-]{3,512}")
_OUR_COLLECTIONS = "memories-"
_SHOWN, _SENTENCE = 80, 1000
"""Characters of a value in a warning, and of what is said of a file."""


@dataclass(frozen=True, slots=True)
class ConfigWarning:
    """A value that was not usable. ``used`` is what stands in for it."""

    name: str
    value: str
    used: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginConfig:
    """The panel's settings, parsed; what they mean stands in the schema.

    Attributes:
        workflow: What the ``workflow.toml`` that is named says. Its root is not looked at.
        reflection_provider: A provider's id, ``auto`` for the conversation's own model, or ``off``.
            Off it is with no tokens a day, too: see ``engine.loop.reads_turns``.
        mcp_share: Where coding agents may ask for memories, ``host:port``; empty for a free port of
            this machine alone, None where they may not.
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
    panel = _Level(raw if isinstance(raw, Mapping) else {}, _schema())
    more = _Level(panel["advanced"], _schema()["advanced"]["items"], "advanced.", panel.warnings)
    deadline = more["recall_deadline_ms"] / 1000
    english = panel["language"] != LANGUAGES[0]
    reader, tokens = panel["reflection_provider"] or "auto", panel["reflection_daily_tokens"]
    workflow = _workflow(more, english=english)
    evolution = SoulEvolution(panel["soul_evolution"])
    scope_map = panel.raw.get("conversation_scope_map", {})
    engine = EngineSettings(
        # What is no map at all is None, and the engine's to tell.
        scope_map=dict(scope_map) if isinstance(scope_map, Mapping) else None,
        dm_scope=panel.read("dm_scope", DmScope),
        dm_scope_by_account=_policies(more),
        group_scope=panel.read("group_scope", GroupScope),
        identity_links=_links(panel),
        scope_filter_enabled=more["scope_filter_enabled"],
        preview_chars=more["preview_chars"],
        relevance_floor=more.read("relevance_floor", _floor),
        load_seconds=deadline * _LOADING_SHARE,
        embed_query_seconds=deadline * _EMBEDDING_SHARE,
        rerank_seconds=deadline * _RERANK_SHARE,
        rerank_within_seconds=deadline * _RERANKED_BY,
        pace=IndexPace(query_seconds=deadline * _INDEX_SHARE),
        # Another server would build another index, somewhere else, because of a typo.
        chroma_url=more.read("chroma_url", server_address, shown=_without_secrets),
        chroma_headers=_headers(more),
        chroma_collection=more.read("chroma_collection", _collection) or "",
        model_mirror=more.read("model_mirror", server_address, shown=_without_secrets),
        migration_mode=MigrationMode(more["migration_mode"]),
        migration_paused=more["migration_paused"],
        walk_pace=WalkPace(batch=more["migration_batch"]),
        privacy_mode=PrivacyMode(panel["privacy_mode"]),
        soul_evolution=evolution,
        adopt_legacy=panel["adopt_legacy"],
        loop=LoopSettings(
            # The panel's picker of providers offers no "off": no tokens means the same.
            reads_turns=reader != "off" and tokens > 0,
            daily_tokens=tokens,
            after_turns=more["reflect_after_turns"],
            idle_minutes=float(more["reflect_idle_minutes"]),
            prime_after_hours=float(more["prime_after_hours"]),
            prime_tokens=more["prime_tokens"],
            sleep_at=more.read("sleep_at", _local_time, instead=(4, 0)) or None,
            backups_keep=more["backups_keep"],
            english=english,
            proposes=workflow is not None,
            counts_manner=evolution is not SoulEvolution.OFF,
        ),
    )
    topk = panel["auto_inject_topk"]
    return PluginConfig(
        enabled=panel["enabled"],
        language=panel["language"],
        embedding=panel["embedding"] or "auto",
        auto_inject_topk=topk if workflow is None or workflow.topk is None else workflow.topk,
        inject_token_budget=panel["inject_token_budget"],
        recall_tool_tokens=more["recall_tool_tokens"],
        recall_deadline_ms=more["recall_deadline_ms"],
        rerank_provider=more["rerank_provider"],
        memory_root=more.read("memory_root", _folder),
        workflow=workflow,
        inject_into_prompt=more["inject_into_prompt"],
        reflection_provider=reader,
        observe_groups=more["observe_groups"],
        mcp_share=more.read("mcp_share_address", _share) if more["mcp_share"] else None,
        engine=engine,
        warnings=tuple(dict.fromkeys(panel.warnings)),
    )


@cache
def _schema() -> Mapping[str, Any]:
    schema: Mapping[str, Any] = json.loads((ROOT / "_conf_schema.json").read_text("utf-8"))
    return schema


class _Level:
    """One level of the config; notes what was not usable. ``level[name]`` is the value if it is
    what the schema says, a number the nearest that is, else the schema's default."""

    def __init__(
        self,
        raw: Mapping[str, Any],
        schema: Mapping[str, Any],
        prefix: str = "",
        warnings: list[ConfigWarning] | None = None,
    ) -> None:
        self.raw = raw
        self.warnings: list[ConfigWarning] = [] if warnings is None else warnings
        self._schema = schema
        self._prefix = prefix

    def warn(self, name: str, shown: str, used: object = "-", *, most: int = _SHOWN) -> None:
        """``shown``: what the warning tells of the value."""
        self.warnings.append(ConfigWarning(self._prefix + name, shown[:most], str(used)))

    def __getitem__(self, name: str) -> Any:
        item = self._schema[name]
        default = item.get("default", {})
        value = self.raw.get(name, default)
        if isinstance(value, float) and item["type"] == "int" and value.is_integer():
            value = int(value)
        wanted: Any = {"bool": bool, "int": int, "string": str}.get(item["type"], Mapping)
        wrong_kind = not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))
        if wrong_kind or ("options" in item and value not in item["options"]):
            self.warn(name, repr(value), default)
            return default
        if wanted is int:
            used = min(max(value, item["minimum"]), item["maximum"])
            if used != value:
                self.warn(name, repr(value), used)
            return used
        return value.strip() if wanted is str else value

    def read[T](
        self,
        name: str,
        made: Callable[[str], T | None],
        *,
        instead: T | None = None,
        shown: Callable[[str], str] = str,
    ) -> T | None:
        """What is ``made`` of a text; ``instead`` where that raises ValueError."""
        value = self.raw.get(name, self._schema[name]["default"])
        try:
            return made(value.strip())
        except (ValueError, AttributeError):
            told = repr(shown(value)) if isinstance(value, str) else type(value).__name__
            self.warn(name, told, self._schema[name]["default"] if instead is not None else "-")
            return instead


def server_address(text: str) -> str:
    """A server's URL without what we would not use; empty for none. Raises ValueError for what is
    none that we can use."""
    if not text:
        return ""
    parts = urlsplit(text)
    port, host = parts.port, parts.hostname or ""
    extra = parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in ("http", "https") or extra or port == 0 or not _HOST.fullmatch(host):
        raise ValueError(text)
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def _without_secrets(url: str) -> str:
    """Who writes a password into a URL has not written it for the log."""
    return re.split("[?#]", url.rpartition("@")[2])[0]


def _floor(text: str) -> float | None:
    """``auto`` or a number from 0 to 1; the panel sends either as text."""
    if text == "auto":
        return None
    if not 0.0 <= (number := float(text)) < 1.0:
        raise ValueError(text)
    return number


def _local_time(text: str) -> tuple[int, int] | None:
    """Hour and minute; None for an empty text, which is never."""
    if text and (found := _TIME.fullmatch(text)) is None:
        raise ValueError(text)
    return (int(found[1]), int(found[2])) if text and found else None


def _folder(text: str) -> Path | None:
    """A folder's path, None for the default one."""
    if "\0" in text:
        raise ValueError(text)
    try:
        return Path(text).expanduser() if text else None
    except RuntimeError as error:  # ~somebody, whom this machine does not know
        raise ValueError(text) from error


def _share(address: str) -> str:
    host, _, port = address.rpartition(":")
    if address and not (host and port.isascii() and port.isdecimal() and int(port) < 65_536):
        raise ValueError(address)
    return address


def _collection(name: str) -> str:
    """A pre-scope plugin's collection: ours hold copies of a vault, which must never be taken for a
    person's memories."""
    if name and (not _COLLECTION.fullmatch(name) or name.startswith(_OUR_COLLECTIONS)):
        raise ValueError(name)
    return name


def _workflow(level: _Level, *, english: bool) -> Workflow | None:
    """What a ``workflow.toml`` says, None where no file is named or it cannot be used."""
    path = level.read("workflow_file", _folder)
    if path is None:
        return None
    found, faults = None, (Said("workflow.missing", path=path),)
    try:
        if path.is_absolute() and str(path).isprintable():
            found = read_workflow(path)
    except HomeError as error:
        faults = (error.said,)
    for said in faults if found is None else found.warnings:
        level.warn("workflow_file", said.text("en" if english else "zh"), most=_SENTENCE)
    return found


def _policies(level: _Level) -> Mapping[str, DmScope | None] | None:
    """By bot account; None for a value that is no policy, and for what is no table: nothing is
    published because of a typo."""
    given = level.raw.get("dm_scope_by_account", {})
    if not isinstance(given, Mapping):
        level.warn("dm_scope_by_account", repr(given))
        return None
    found: dict[str, DmScope | None] = {str(account).strip(): None for account in given}
    for account, value in given.items():
        with suppress(ValueError):
            found[str(account).strip()] = DmScope(value.strip() if isinstance(value, str) else "")
            continue
        level.warn("dm_scope_by_account", f"{str(account).strip()}: {value!r}")
    return found


def _links(level: _Level) -> dict[str, str]:
    links = {}
    for key, value in level["identity_links"].items():
        if isinstance(value, str) and value.strip() and ":" in str(key):
            links[str(key).strip()] = value.strip()
        else:
            level.warn("identity_links", f"{key}: {value!r}")
    return links


def _headers(level: _Level) -> dict[str, str]:
    """HTTP headers. Their values are secrets: a warning shows the name of one, no more."""
    given = level.raw.get("chroma_headers", {})
    if not isinstance(given, Mapping):
        level.warn("chroma_headers", type(given).__name__)
        return {}
    headers = {}
    for key, value in given.items():
        header, content = str(key).strip(), value.strip() if isinstance(value, str) else ""
        if _HEADER.fullmatch(header) and _PLAIN.fullmatch(content):
            headers[header] = content
        else:
            level.warn("chroma_headers", f"{header}: …")
    return headers
