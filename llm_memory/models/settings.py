"""What an owner can set, as the engine takes it: already parsed, never raw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from .scope import Scope
from .soul import SoulEvolution


class DmScope(StrEnum):
    """Which scope an unmapped private chat has. ``main``: all of them share one, apart from groups
    and from public."""

    PUBLIC = "public"
    MAIN = "main"
    PER_PEER = "per-peer"
    PER_CHANNEL_PEER = "per-channel-peer"
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"


class GroupScope(StrEnum):
    """Which scope an unmapped group has."""

    PUBLIC = "public"
    PER_GROUP = "per-group"


class MigrationMode(StrEnum):
    """Whether records of a pre-scope plugin that state no scope are recalled as public ones before
    they stand in the vault: ``auto``, exactly while their migration is unfinished."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class PrivacyMode(StrEnum):
    """What becomes of secrets and numbers in a text that is to be remembered."""

    REDACT = "redact"
    REJECT = "reject"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ScopeMap:
    """``conversation_scope_map`` after reading, and what is doubtful of it until an admin says that
    it is meant as it is.

    Attributes:
        entries: Every key with its scope, or with the text there that is no scope's name: then its
            conversation reads public and writes nothing.
        unreadable: Keys that are no conversation id. A conversation that one of them seems to mean
            reads public only.
        gone: Keys of bot accounts that do not exist now. The same conversation on another account
            reads public only.
        withheld: It has lost all private entries at once, or all its private conversations are on
            accounts that are gone: what would fall to public, or to all private chats, reads public
            only.
    """

    entries: Mapping[str, Scope | str] = field(default_factory=lambda: MappingProxyType({}))
    unreadable: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class MapPast:
    """What is remembered of the maps that there were.

    Attributes:
        keys: The private ones of the last map that was not lost.
        scopes: Private scopes that a map has named, that were brought from elsewhere, or of which
            an admin has said that no key is to name them.
        released: Bot accounts of which an admin has said that they are gone for good.
        named: The scopes of ``keys``; of no map, those that were found lost.
    """

    keys: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    released: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """Which scope a conversation has that no map names. What is None is a value of the panel that
    is none: fail closed.

    Attributes:
        dm_scope_by_account: Overrides ``dm_scope`` for single bot accounts; where it is None, any
            account may have been meant.
        scope_per_project: A coding agent's ``mcp:project:<name>`` has a scope of its own and
            ``mcp:global:…`` is public, as in a home, where agents are the only readers. Else, with
            a bot, an unmapped agent reads public and writes nothing.
    """

    dm_scope: DmScope | None = DmScope.PUBLIC
    dm_scope_by_account: Mapping[str, DmScope | None] | None = field(default_factory=dict)
    group_scope: GroupScope | None = GroupScope.PUBLIC
    identity_links: Mapping[str, str] = field(default_factory=dict)
    scope_per_project: bool = False

    def dm_policy(self, account: str) -> DmScope | None:
        """The policy for unmapped private chats of a bot account."""
        if self.dm_scope_by_account is None:
            return None
        return self.dm_scope_by_account.get(account, self.dm_scope)

    def dm_setting(self, account: str) -> str:
        """The name of the setting that ``dm_policy`` took it from, as the panel has it."""
        if self.dm_scope_by_account is None or account in self.dm_scope_by_account:
            return "advanced.dm_scope_by_account"
        return "dm_scope"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How what goes on behind the bot is followed: not the owner's to set, but a test's.

    Attributes:
        retry_seconds: Waited after the first, second, … failure in a row; the last after all that
            follow.
        query_seconds: A query goes on without an index that takes longer.
        rest_seconds: Least and most rest after a batch of other people's records.
        debounce_seconds: A changed file is read once nothing more changes for so long.
        quiet_seconds: A file is written into, and what is missing in it taken for deleted, once it
            is unchanged for so long.
        scan_seconds: Between two scans of the files, for what no watcher reports.
    """

    retry_seconds: tuple[float, ...] = (2.0, 5.0, 15.0, 60.0)
    batch: int = 50
    pause_seconds: float = 0.05
    query_seconds: float = 0.2
    rest_seconds: tuple[float, float] = (0.05, 0.2)
    debounce_seconds: float = 1.5
    quiet_seconds: float = 5.0
    scan_seconds: float = 60.0

    def retry(self, failures: int) -> float:
        """Seconds to wait where ``failures`` attempts have failed before this one."""
        return self.retry_seconds[min(failures, len(self.retry_seconds) - 1)]


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What the memory loop does by itself, and how often.

    Attributes:
        reads_turns: False: no model reads turns, and none is queued.
        most_queued: With so many turns on disk no more are queued; with half as many, none that
            was not said to the bot.
        sleep_at: Local hour and minute; None for never.
        english: The language of what is written into the vault; else Chinese.
        proposes: Decisions found in turns are proposed, to be accepted or rejected by an admin.
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
class EngineSettings(Policies):
    """What the engine is given: the panel's settings by their names, and deadlines.

    Attributes:
        scope_map: The raw map of the panel.
        relevance_floor: None takes 0.5.
        load_seconds: After this long a query at a start goes on with what was read of the files; as
            a query without vectors, a memory without being compared, a recall in the order that it
            had, and a batch of writes in the backlog.
        rerank_within_seconds: From the beginning of the recall on.
        open_retry_seconds: How long a locked data folder is tried again at start.
        chroma_url: Empty for an index of our own; None where it cannot be told which.
        migration_batch: Not larger: a Chroma holds up others as long as a write takes.
    """

    scope_map: Mapping[str, object] = field(default_factory=dict)
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
    pace: Pace = field(default_factory=Pace)
    chroma_url: str | None = ""
    chroma_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    model_mirror: str | None = ""
    privacy_mode: PrivacyMode = PrivacyMode.REDACT
    adopt_legacy: bool = False
    chroma_collection: str = "personal_memory_v1"
    migration_mode: MigrationMode = MigrationMode.AUTO
    migration_paused: bool = False
    migration_batch: int = 200
    loop: LoopSettings = field(default_factory=LoopSettings)
