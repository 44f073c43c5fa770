"""What the panel holds, read once at load. A bad value becomes a warning, never an exception."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
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

PRIVACY_MODES = tuple(PrivacyMode)
EVOLUTIONS = (SoulEvolution.REVIEW, SoulEvolution.OFF, SoulEvolution.AUTO)
"""The first one stands in for a typo: nothing takes effect without an admin."""
MIGRATION_MODES = tuple(MigrationMode)
_LOADING_SHARE = 0.3
_EMBEDDING_SHARE = 0.6
_INDEX_SHARE = 0.25
_RERANK_SHARE = 0.4
_RERANKED_BY = 0.9
"""Of the deadline; the rest is for writing the memories down."""
_HOST = re.compile(r"[A-Za-z0-9._:%-]+")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_TIME = re.compile(r"([01]?[0-9]|2[0-3])[:：]([0-5][0-9])", re.ASCII)
_COLLECTION = re.compile(r"[a-zA-Z0-9._-]{3,512}")
_OUR_COLLECTIONS = "memories-"
_SHOWN = 80
"""Characters of a value in a warning."""
_SET_BY_HTTP = (
    *("accept-encoding", "connection", "content-length", "content-type", "expect", "host"),
    *("keep-alive", "te", "trailer", "transfer-encoding", "upgrade"),
)
"""Headers that the HTTP client sets itself."""


@dataclass(frozen=True, slots=True)
class ConfigWarning:
    """A value that was not usable. ``used`` is what stands in for it."""

    name: str
    value: str
    used: str


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """The panel's settings, parsed.

    Attributes:
        embedding: ``auto``, ``bundled``, ``lexical``, a provider id, or a local model's folder or
            name.
        auto_inject_topk: Memories a turn, 0 for none.
        inject_token_budget: Estimated tokens of all injected previews.
        recall_tool_tokens: Estimated tokens of what the recall tool returns.
        recall_deadline_ms: After this long a turn goes on without memories.
        rerank_provider: The id of a rerank provider, empty for none.
        memory_root: Another place for the Markdown tree.
        workflow: What the ``workflow.toml`` that is named says. Its root is not looked at.
        inject_into_prompt: For third-party runners, which read nothing but the prompt.
        reflection_provider: A provider's id, ``auto`` for the conversation's own model, or ``off``.
            Off it is with no tokens a day, too: see ``engine.loop.reads_turns``.
        observe_groups: Turns of a group that do not address the bot are read, too.
        mcp_share: Where coding agents may ask for memories, ``host:port``; empty for a free port of
            this machine alone, None where they may not.
    """

    enabled: bool = True
    language: str = LANGUAGES[0]
    embedding: str = "auto"
    auto_inject_topk: int = 3
    inject_token_budget: int = 600
    recall_tool_tokens: int = 4000
    recall_deadline_ms: int = 800
    rerank_provider: str = ""
    memory_root: Path | None = None
    workflow: Workflow | None = None
    inject_into_prompt: bool = False
    reflection_provider: str = "auto"
    observe_groups: bool = False
    mcp_share: str | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    warnings: tuple[ConfigWarning, ...] = ()


def read_config(raw: Mapping[str, Any] | None) -> PluginConfig:
    """The config of the panel, which may hold anything."""
    reader = _Reader(raw if isinstance(raw, Mapping) else {})
    advanced = _Reader(reader.table("advanced"), "advanced.", reader.warnings)
    deadline_ms = advanced.number("recall_deadline_ms", 800, 50, 60_000)
    reader_of_turns = reader.text("reflection_provider", "auto") or "auto"
    daily_tokens = reader.number("reflection_daily_tokens", 50_000, 0, 100_000_000)
    language = reader.choice("language", LANGUAGES)
    english = language != LANGUAGES[0]
    workflow = advanced.workflow(english=english)
    evolution = SoulEvolution(reader.choice("soul_evolution", EVOLUTIONS))
    engine = EngineSettings(
        scope_map=reader.scope_map(),
        dm_scope=reader.policy("dm_scope", DmScope.PUBLIC),
        dm_scope_by_account=advanced.policies("dm_scope_by_account"),
        group_scope=reader.policy("group_scope", GroupScope.PUBLIC),
        identity_links=reader.links(),
        scope_filter_enabled=advanced.flag("scope_filter_enabled", default=True),
        preview_chars=advanced.number("preview_chars", 240, 40, 2000),
        relevance_floor=advanced.floor(),
        load_seconds=deadline_ms / 1000 * _LOADING_SHARE,
        # The rest of the deadline is for a search without vectors, where the embedder is too slow.
        embed_query_seconds=deadline_ms / 1000 * _EMBEDDING_SHARE,
        rerank_seconds=deadline_ms / 1000 * _RERANK_SHARE,
        rerank_within_seconds=deadline_ms / 1000 * _RERANKED_BY,
        pace=IndexPace(query_seconds=deadline_ms / 1000 * _INDEX_SHARE),
        chroma_url=advanced.address("chroma_url"),
        chroma_headers=advanced.headers("chroma_headers"),
        chroma_collection=advanced.collection("chroma_collection", "personal_memory_v1"),
        model_mirror=advanced.address("model_mirror"),
        migration_mode=MigrationMode(advanced.choice("migration_mode", MIGRATION_MODES)),
        migration_paused=advanced.flag("migration_paused", default=False),
        walk_pace=WalkPace(batch=advanced.number("migration_batch", 200, 1, 200)),
        # A typo must not keep secrets: what is no mode hides them.
        privacy_mode=PrivacyMode(reader.choice("privacy_mode", PRIVACY_MODES)),
        soul_evolution=evolution,
        adopt_legacy=reader.flag("adopt_legacy", default=False),
        loop=LoopSettings(
            # The panel's picker of providers offers no "off": no tokens means the same.
            reads_turns=reader_of_turns != "off" and daily_tokens > 0,
            daily_tokens=daily_tokens,
            after_turns=advanced.number("reflect_after_turns", 10, 1, 40),
            idle_minutes=float(advanced.number("reflect_idle_minutes", 10, 1, 1440)),
            prime_after_hours=float(advanced.number("prime_after_hours", 6, 0, 8760)),
            prime_tokens=advanced.number("prime_tokens", 1000, 100, 8000),
            sleep_at=advanced.local_time("sleep_at", "04:00"),
            backups_keep=advanced.number("backups_keep", 7, 0, 365),
            english=english,
            proposes=workflow is not None,
            counts_manner=evolution is not SoulEvolution.OFF,
        ),
    )
    topk = reader.number("auto_inject_topk", 3, 0, 20)
    if workflow is not None and workflow.topk is not None:
        topk = workflow.topk
    return PluginConfig(
        enabled=reader.flag("enabled", default=True),
        language=language,
        embedding=reader.text("embedding", "auto") or "auto",
        auto_inject_topk=topk,
        inject_token_budget=reader.number("inject_token_budget", 600, 50, 20_000),
        recall_tool_tokens=advanced.number("recall_tool_tokens", 4000, 200, 20_000),
        recall_deadline_ms=deadline_ms,
        rerank_provider=advanced.text("rerank_provider", ""),
        memory_root=advanced.folder("memory_root"),
        workflow=workflow,
        inject_into_prompt=advanced.flag("inject_into_prompt", default=False),
        reflection_provider=reader_of_turns,
        observe_groups=advanced.flag("observe_groups", default=False),
        mcp_share=advanced.share(),
        engine=engine,
        warnings=tuple(reader.warnings),
    )


def server_address(value: str) -> str | None:
    """A server's URL without what we would not use; None if it is none that we can use."""
    text = value.strip()
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # a port of letters, half an IPv6 address
        return None
    host = parts.hostname or ""
    extra = parts.username or parts.password or parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in ("http", "https") or extra or port == 0 or not _HOST.fullmatch(host):
        return None
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


class _Reader:
    """Reads one level of the config and notes what was not usable."""

    def __init__(
        self,
        raw: Mapping[str, Any],
        prefix: str = "",
        warnings: list[ConfigWarning] | None = None,
    ) -> None:
        self._raw = raw
        self._prefix = prefix
        self.warnings: list[ConfigWarning] = [] if warnings is None else warnings

    def _warn(self, name: str, used: object = "-", *, shown: str | None = None) -> None:
        """``shown``: what the warning tells of the value, where that is not the value itself."""
        value = repr(self._raw.get(name)) if shown is None else shown
        self.warnings.append(ConfigWarning(self._prefix + name, value[:_SHOWN], str(used)))

    def table(self, name: str) -> Mapping[str, Any]:
        value = self._raw.get(name, {})
        if isinstance(value, Mapping):
            return value
        self._warn(name, {})
        return {}

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._raw.get(name, default)
        if isinstance(value, bool):
            return value
        self._warn(name, default)
        return default

    def number(self, name: str, default: int, low: int, high: int) -> int:
        value = self._raw.get(name, default)
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole:
            self._warn(name, default)
            return default
        if not low <= value <= high:
            used = min(max(int(value), low), high)
            self._warn(name, used)
            return used
        return int(value)

    def text(self, name: str, default: str) -> str:
        value = self._raw.get(name, default)
        if isinstance(value, str):
            return value.strip()
        self._warn(name, default)
        return default

    def folder(self, name: str) -> Path | None:
        """A folder's path, None for the default one."""
        value = self.text(name, "")
        try:
            if "\0" not in value:
                return Path(value).expanduser() if value else None
        except RuntimeError:  # ~somebody, whom this machine does not know
            pass
        self._warn(name)
        return None

    def workflow(self, *, english: bool) -> Workflow | None:
        """What a ``workflow.toml`` says, None where no file is named or it cannot be used."""
        path = self.folder("workflow_file")
        if path is None:
            return None
        found = None
        fault = Said("workflow.missing", path=path)
        try:
            if path.is_absolute() and str(path).isprintable():
                found = read_workflow(path)
        except HomeError as error:
            fault = error.said
        name = f"{self._prefix}workflow_file"
        for said in (fault,) if found is None else found.warnings:
            self.warnings.append(ConfigWarning(name, said.text("en" if english else "zh"), "-"))
        return found

    def local_time(self, name: str, default: str) -> tuple[int, int] | None:
        """Hour and minute; None for an empty text, which is never."""
        value = self.text(name, default)
        if not value:
            return None
        found = _TIME.fullmatch(value)
        if found is None:
            self._warn(name, default)
            found = _TIME.fullmatch(default)
        return (int(found[1]), int(found[2])) if found else None

    def share(self) -> str | None:
        """Where the memory is shared; None where it is not, or where is not said rightly."""
        address = self.text("mcp_share_address", "")
        if not self.flag("mcp_share", default=False):
            return None
        host, _, port = address.rpartition(":")
        if address and not (host and port.isascii() and port.isdecimal() and int(port) < 65_536):
            self._warn("mcp_share_address", shown=repr(address))
            return None
        return address

    def address(self, name: str) -> str | None:
        """A server's URL; empty for none; None for what is no URL, and then nothing is used.

        Falling back to the default would build another index, somewhere else, because of a typo.
        """
        value = self._raw.get(name, "")
        used = server_address(value) if isinstance(value, str) else None
        if used is None:
            # Who writes a password into a URL has not written it for the log.
            plain = re.split("[?#]", value.rpartition("@")[2])[0] if isinstance(value, str) else ""
            self._warn(name, shown=repr(plain) if isinstance(value, str) else type(value).__name__)
        return used

    def collection(self, name: str, default: str) -> str:
        """A pre-scope plugin's collection; empty for none, and for what can be no such name: ours
        hold copies of a vault, which must never be taken for a person's memories."""
        value = self.text(name, default)
        if not value or (_COLLECTION.fullmatch(value) and not value.startswith(_OUR_COLLECTIONS)):
            return value
        self._warn(name)
        return ""

    def headers(self, name: str) -> dict[str, str]:
        """HTTP headers. Their values are secrets: a warning shows the name of one, no more."""
        given = self._raw.get(name, {})
        if not isinstance(given, Mapping):
            self._warn(name, shown=type(given).__name__)
            return {}
        headers = {}
        for key, value in given.items():
            header, content = str(key).strip(), value.strip() if isinstance(value, str) else ""
            plain = _HEADER.fullmatch(header) and _PLAIN.fullmatch(content)
            if plain and header.lower() not in _SET_BY_HTTP:
                headers[header] = content
            else:
                self._warn(name, shown=f"{header}: …")
        return headers

    def choice(self, name: str, options: tuple[str, ...]) -> str:
        value = self._raw.get(name, options[0])
        if value in options:
            return str(value)
        self._warn(name, options[0])
        return options[0]

    def policy[P: (DmScope, GroupScope)](self, name: str, default: P) -> P | None:
        """None for a value that is no policy: the engine then keeps unmapped chats to themselves.

        Falling back to the default would publish them because of a typo.
        """
        value = self._raw.get(name, default.value)
        try:
            return type(default)(value)
        except ValueError:
            self._warn(name)
            return None

    def policies(self, name: str) -> Mapping[str, DmScope | None] | None:
        """By bot account; None for a value that is no policy, and for what is no table."""
        given = self._raw.get(name, {})
        if not isinstance(given, Mapping):
            self._warn(name)
            return None
        found: dict[str, DmScope | None] = {}
        for key, value in given.items():
            account = str(key).strip()
            known = value.strip() if isinstance(value, str) else None
            found[account] = next((policy for policy in DmScope if policy == known), None)
            if found[account] is None:
                self._warn(name, shown=f"{account}: {value!r}")
        return found

    def scope_map(self) -> Mapping[str, object] | None:
        """The raw map; None if it is no map at all."""
        value = self._raw.get("conversation_scope_map", {})
        return dict(value) if isinstance(value, Mapping) else None

    def links(self) -> dict[str, str]:
        links = {}
        for key, value in self.table("identity_links").items():
            if isinstance(value, str) and value.strip() and ":" in str(key):
                links[str(key).strip()] = value.strip()
            else:
                self._warn("identity_links", shown=f"{key}: {value!r}")
        return links

    def floor(self) -> float | None:
        """``auto`` or a number from 0 to 1; the panel sends either as text."""
        value = self._raw.get("relevance_floor", "auto")
        if value == "auto":
            return None
        try:
            number = -1.0 if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = -1.0
        if 0.0 <= number < 1.0:
            return number
        self._warn("relevance_floor", "auto")
        return None
