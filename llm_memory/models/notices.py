"""What the engine wants its owner to know. Texts live with the plugin, in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType


class NoticeCode(StrEnum):
    """Each has a text in the i18n files, with the params named there."""

    MAP_WRONG_TYPE = "map_wrong_type"
    MAP_ILLEGAL_NAME = "map_illegal_name"
    MAP_ODD_KEY = "map_odd_key"
    MAP_DAMAGED = "map_damaged"
    MAP_WRITTEN_OVER = "map_written_over"
    MAP_UNKNOWN = "map_unknown"
    MAP_ACCOUNTS_GONE = "map_accounts_gone"
    SUCCESSOR = "successor"
    POLICY_UNKNOWN = "policy_unknown"
    STRANGERS_IN_PUBLIC = "strangers_in_public"
    SCOPE_FILTER_OFF = "scope_filter_off"
    DIRECTORY_IN_USE = "directory_in_use"
    FORMAT_NEWER = "format_newer"
    STATE_RESET = "state_reset"
    STATE_UNAVAILABLE = "state_unavailable"
    LOOP_RESET = "loop_reset"
    PAUSES_UNREAD = "pauses_unread"
    LOOP_UNAVAILABLE = "loop_unavailable"
    QUEUE_FULL = "queue_full"
    CHATTER_FULL = "chatter_full"
    TURNS_HELD = "turns_held"
    TURNS_LOST = "turns_lost"
    SLEEP_FAILED = "sleep_failed"
    BACKUP_FAILED = "backup_failed"
    PURGE_UNFINISHED = "purge_unfinished"
    PAGE_LEFT = "page_left"
    RECORD_PUT_BACK = "record_put_back"
    RECORD_TORN = "record_torn"
    CONSTITUTION_CHANGED = "constitution_changed"
    ROOT_READ = "root_read"
    ROOT_UNREAD = "root_unread"
    SOUL_WAITS = "soul_waits"
    SOUL_APPLIED = "soul_applied"
    SOUL_EDITED = "soul_edited"
    SOUL_BROKEN = "soul_broken"
    VAULT_UNWRITABLE = "vault_unwritable"
    VAULT_FILE_BROKEN = "vault_file_broken"
    VAULT_SAME_ID = "vault_same_id"
    VAULT_COPY = "vault_copy"
    VAULT_TWIN = "vault_twin"
    VAULT_HELD = "vault_held"
    INDEX_OFF = "index_off"
    INDEX_FULL = "index_full"
    INDEX_REBUILT = "index_rebuilt"
    LEXICAL_OFF = "lexical_off"
    EMBEDDER_FAILING = "embedder_failing"
    ADOPTION_FAILED = "adoption_failed"
    ADOPTION_BROKEN = "adoption_broken"
    ADOPTION_QUARANTINED = "adoption_quarantined"
    REFUSED_ID = "refused_id"


class Severity(StrEnum):
    """How loud a notice is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Notice:
    """``subject`` tells notices of one code apart (a map key, a file): one of each stands."""

    code: NoticeCode
    subject: str = ""
    params: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    severity: Severity = Severity.WARNING
