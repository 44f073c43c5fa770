"""What an owner can set, as the engine takes it: already parsed, never raw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from .resolution import Rebinding
from .scope import Scope, ScopeFault
from .soul import SoulEvolution


class DmScope(StrEnum):
    """Which scope an unmapped private chat has."""

    PUBLIC = "public"
    MAIN = "main"
    """All of them share one scope of their own, apart from groups and from public."""
    PER_PEER = "per-peer"
    PER_CHANNEL_PEER = "per-channel-peer"
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"


class GroupScope(StrEnum):
    """Which scope an unmapped group has."""

    PUBLIC = "public"
    PER_GROUP = "per-group"


class AgentScope(StrEnum):
    """Which scope the unmapped conversation of a coding agent has."""

    MAPPED_ONLY = "mapped-only"
    """None: it reads public and writes nothing. So it is with a bot."""
    PER_PROJECT = "per-project"
    """``mcp:global:…`` is public, each ``mcp:project:<name>`` has a scope of its own. So it is in a
    home, where agents are the only readers."""


class MigrationMode(StrEnum):
    """Whether records of a pre-scope plugin that state no scope are recalled as public ones before
    they stand in the vault. They are brought there whatever it is."""

    AUTO = "auto"
    """Exactly while the migration is unfinished."""
    ON = "on"
    """Always: also what is written there after the migration."""
    OFF = "off"


class PrivacyMode(StrEnum):
    """What becomes of secrets and numbers in a text that is to be remembered."""

    REDACT = "redact"
    REJECT = "reject"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class IllegalName:
    """A map entry whose value is no scope name: its conversation reads public, writes nothing."""

    value: str
    fault: ScopeFault


@dataclass(frozen=True, slots=True)
class ScopeMap:
    """``conversation_scope_map`` after reading: every key with its scope or its fault, and what is
    held of it until an admin says that it is meant as it is.

    Attributes:
        unreadable: Keys that are no conversation id. A conversation that one of them seems to mean
            reads public only.
        held: Keys that went all at once: their conversations read public only.
        gone: Keys of bot accounts that do not exist now. The same conversation on another account
            reads public only.
        all_gone: All private conversations of the map are on such accounts.
        unnamed: Scopes that have a folder and that no map of this installation has named.
        rebound: Names that were replaced by others, in the order in which that was done.
    """

    entries: Mapping[str, Scope | IllegalName] = field(default_factory=lambda: MappingProxyType({}))
    unreadable: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    all_gone: bool = False
    unnamed: frozenset[str] = frozenset()
    rebound: tuple[Rebinding, ...] = ()

    @property
    def withheld(self) -> bool:
        """Every conversation that would fall to public reads public only."""
        return self.all_gone or bool(self.unnamed)

    def written(self, key: str) -> str:
        """What stands beside a key, empty where it stands there no more."""
        entry = self.entries.get(key)
        if entry is None:
            return ""
        return entry.name if isinstance(entry, Scope) else entry.value


@dataclass(frozen=True, slots=True)
class MapPast:
    """What is remembered of the maps that there were.

    Attributes:
        keys: The private ones of the last map that had any.
        lost: Private keys that went all at once and are not back.
        scopes: Private scopes that a map has named, that were brought from elsewhere, or of which
            an admin has said that no key is to name them.
        released: Bot accounts of which an admin has said that they are gone for good.
    """

    keys: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    released: frozenset[str] = frozenset()


BY_ACCOUNT = "advanced.dm_scope_by_account"


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    """All that ``resolve`` looks at. A policy of None is a value that is none: fail closed.

    ``dm_scope_by_account`` overrides ``dm_scope`` for single bot accounts; None where the panel
    holds no table, so that any account may have been meant.
    """

    scope_map: ScopeMap = field(default_factory=ScopeMap)
    dm_scope: DmScope | None = DmScope.PUBLIC
    group_scope: GroupScope | None = GroupScope.PUBLIC
    identity_links: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    dm_scope_by_account: Mapping[str, DmScope | None] | None = field(
        default_factory=lambda: MappingProxyType({})
    )
    agent_scope: AgentScope = AgentScope.MAPPED_ONLY

    def dm_policy(self, account: str) -> DmScope | None:
        """The policy for unmapped private chats of a bot account."""
        if self.dm_scope_by_account is None:
            return None
        return self.dm_scope_by_account.get(account, self.dm_scope)

    def dm_setting(self, account: str) -> str:
        """The name of the setting that ``dm_policy`` took it from, as the panel has it."""
        by_account = self.dm_scope_by_account
        if by_account is None or account in by_account:
            return BY_ACCOUNT
        return "dm_scope"


@dataclass(frozen=True, slots=True)
class IndexPace:
    """How the index is followed behind the bot. Not the owner's to set, but a test's.

    Attributes:
        batch: The most texts that an embedder is asked for at once.
        pause_seconds: Between two batches, for the bot.
        idle_seconds: After so long without a write the index counts as settled.
        look_seconds: So often a settled index is counted, for others may have been at it.
        retry_seconds: After the first, second, … failure in a row; the last for all that follow.
        query_seconds: After this long a query goes on without the index.
    """

    batch: int = 50
    pause_seconds: float = 0.05
    idle_seconds: float = 5.0
    look_seconds: float = 3600.0
    retry_seconds: tuple[float, ...] = (2.0, 5.0, 15.0, 60.0)
    query_seconds: float = 0.2

    def retry(self, failures: int) -> float:
        """Seconds to wait where ``failures`` attempts have failed before this one."""
        return self.retry_seconds[min(failures, len(self.retry_seconds) - 1)]


@dataclass(frozen=True, slots=True)
class VaultPace:
    """How the files are followed behind the bot. Not the owner's to set, but a test's.

    Attributes:
        debounce_seconds: After a change, until nothing more changes for so long.
        quiet_seconds: So long a file must be unchanged before something is written into it
            for him, or before what is missing in it is taken for deleted.
        scan_seconds: Between two scans where no watcher reports changes.
        rare_scan_seconds: Between two scans where a watcher does, for what it may miss.
    """

    debounce_seconds: float = 1.5
    quiet_seconds: float = 5.0
    scan_seconds: float = 60.0
    rare_scan_seconds: float = 600.0


MOST_AT_ONCE = 200
"""Records in a batch of a walk: a Chroma holds up others as long as a write takes."""


@dataclass(frozen=True, slots=True)
class WalkPace:
    """How other people's records are walked over behind the bot. Not the owner's to set, but for
    ``batch``; and a test's.

    Attributes:
        batch: Records at once, at most ``MOST_AT_ONCE``.
        least_pause: Seconds between two batches, and the most; in between, as long as the last
            batch took.
        retry_seconds: After the first, second, … failure in a row; the last for all that follow.
    """

    batch: int = MOST_AT_ONCE
    least_pause: float = 0.05
    most_pause: float = 0.2
    retry_seconds: tuple[float, ...] = (2.0, 5.0, 15.0, 60.0)

    def pause(self, took: float) -> float:
        """Seconds to rest after a batch that took so long."""
        return min(max(took, self.least_pause), self.most_pause)

    def retry(self, failures: int) -> float:
        """Seconds to wait where ``failures`` attempts have failed before this one."""
        return self.retry_seconds[min(failures, len(self.retry_seconds) - 1)]


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What the memory loop does by itself, and how often.

    Attributes:
        reads_turns: False: no model reads turns, and none is queued.
        daily_tokens: What its calls may cost a day, prompt and answer together.
        after_turns: So many turns of a conversation are read together.
        idle_minutes: A conversation that has been silent so long is read, however little was said.
        call_seconds: The most that one call may take.
        retry_seconds: After the first, second, … failed call in a row; the last for all that
            follow.
        most_queued: With so many turns on disk no more are queued; with half as many, none that
            was not said to the bot.
        prime_after_hours: A conversation that comes back after so long is told where things stand;
            0 for never.
        prime_tokens: The most that this costs.
        sleep_at: Local hour and minute of the nightly consolidation; None for never.
        backups_keep: So many backups are kept; 0 for none at all.
        english: MEMORY.md and PRIMER.md are written in English, else in Chinese.
        proposes: Decisions found in turns are proposed, to be accepted or rejected by an admin.
        counts_manner: What people ask of the bot's manner is counted, by a closed vocabulary.
    """

    reads_turns: bool = True
    daily_tokens: int = 50_000
    after_turns: int = 10
    idle_minutes: float = 10.0
    call_seconds: float = 120.0
    retry_seconds: tuple[float, ...] = (60.0, 300.0, 1800.0, 7200.0, 21600.0)
    most_queued: int = 5_000
    prime_after_hours: float = 6.0
    prime_tokens: int = 1_000
    sleep_at: tuple[int, int] | None = (4, 0)
    backups_keep: int = 7
    english: bool = False
    proposes: bool = False
    counts_manner: bool = False


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What the composition root hands to the engine.

    Attributes:
        scope_map: The raw map of the panel, None if it was no map at all.
        dm_scope: None where the panel holds a value that is no policy.
        dm_scope_by_account: The same for single bot accounts; None where it is no table.
        group_scope: As ``dm_scope``.
        scope_filter_enabled: False is the emergency downgrade: reads see all, learning pauses.
        preview_chars: The longest preview, characters.
        relevance_floor: The least probability, 0 to 1, that a memory answers; None takes 0.5.
        load_seconds: After this long a query at a start goes on with what was read of the files.
        embed_query_seconds: After this long a query goes on without vectors.
        embed_draft_seconds: After this long a memory is written without being compared.
        rerank_seconds: After this long the order of a recall stays as it was.
        rerank_within_seconds: The same, from the beginning of the recall on.
        embed_write_seconds: After this long a batch of writes stays in the backlog.
        open_retry_seconds: How long a locked data folder is tried again at start.
        chroma_url: Where a Chroma server listens; empty for an index of our own. None where the
            panel holds what is no address: then there is no index until it is put right.
        chroma_headers: Sent with every request to it. They hold secrets.
        model_mirror: Where a model that is not on disk comes from; empty for the hub. None where
            the panel holds what is no address: then nothing is fetched.
        adopt_legacy: Bring what other plugins left on this machine.
        chroma_collection: Where on that server a pre-scope plugin keeps its memories; empty for
            nowhere.
        migration_paused: Nothing is brought from elsewhere meanwhile.
    """

    scope_map: Mapping[str, object] | None = field(default_factory=dict)
    dm_scope: DmScope | None = DmScope.PUBLIC
    dm_scope_by_account: Mapping[str, DmScope | None] | None = field(default_factory=dict)
    group_scope: GroupScope | None = GroupScope.PUBLIC
    agent_scope: AgentScope = AgentScope.MAPPED_ONLY
    identity_links: Mapping[str, str] = field(default_factory=dict)
    scope_filter_enabled: bool = True
    soul_evolution: SoulEvolution = SoulEvolution.REVIEW
    preview_chars: int = 240
    relevance_floor: float | None = None
    load_seconds: float = 0.25
    embed_query_seconds: float = 2.0
    embed_draft_seconds: float = 2.0
    rerank_seconds: float = 1.0
    rerank_within_seconds: float = 2.5
    embed_write_seconds: float = 30.0
    open_retry_seconds: float = 15.0
    pace: IndexPace = field(default_factory=IndexPace)
    vault_pace: VaultPace = field(default_factory=VaultPace)
    chroma_url: str | None = ""
    chroma_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    model_mirror: str | None = ""
    privacy_mode: PrivacyMode = PrivacyMode.REDACT
    adopt_legacy: bool = False
    chroma_collection: str = "personal_memory_v1"
    migration_mode: MigrationMode = MigrationMode.AUTO
    migration_paused: bool = False
    walk_pace: WalkPace = field(default_factory=WalkPace)
    loop: LoopSettings = field(default_factory=LoopSettings)
