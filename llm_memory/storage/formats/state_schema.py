"""The tables of ``state.sqlite``."""

from __future__ import annotations

from typing import Final

from .schema import Schema

_KNOWN_BEFORE_2: Final = (
    "CREATE TABLE IF NOT EXISTS known_scope (scope TEXT NOT NULL PRIMARY KEY)",
    "INSERT INTO known_scope SELECT ' * '"
    " WHERE NOT EXISTS (SELECT 1 FROM lost_map_key WHERE key = ' * ')",
    "DELETE FROM lost_map_key WHERE key = ' * '",
    "INSERT OR IGNORE INTO seen_conversation"
    " SELECT key FROM (SELECT key FROM map_key UNION SELECT key FROM lost_map_key)"
    " WHERE substr(key, 1, 8) = 'persona:' OR EXISTS ("
    "SELECT 1 FROM seen_conversation WHERE substr(umo, 1, length(key) + 1) = key || '#')",
)
"""Scopes that have a folder are known ones, as far as format 1 knew: where it did not, it marked
that by the lost key `` * ``. Keys that a persona or a thread may have had count as met."""

_DEED: Final = """
CREATE TABLE IF NOT EXISTS deed (
    number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, scope TEXT NOT NULL,
    target TEXT NOT NULL, memory_id TEXT NOT NULL, words TEXT NOT NULL, marks TEXT NOT NULL,
    person TEXT NOT NULL, who TEXT NOT NULL, said_at TEXT NOT NULL, at TEXT NOT NULL,
    by TEXT NOT NULL, actor TEXT NOT NULL DEFAULT '', door TEXT NOT NULL DEFAULT '',
    before TEXT NOT NULL DEFAULT '', after TEXT NOT NULL DEFAULT '',
    batch TEXT NOT NULL DEFAULT '', undoable INTEGER NOT NULL DEFAULT 0);
"""
_WORDS: Final = "kind, scope, target, memory_id, words, marks, person, who, said_at, at, by"
_MARK: Final = "mark:purged:"
_LAST: Final = "rtrim(name, replace(name, '/', ''))"
"""A mark without what follows the last slash."""
_DEEDS_BEFORE_3: Final = (
    f"CREATE TABLE IF NOT EXISTS correction (number INTEGER, {_WORDS})",
    _DEED,
    f"INSERT INTO deed (number, {_WORDS}) SELECT number, {_WORDS} FROM correction",  # noqa: S608
    "DROP TABLE correction",
    f"INSERT INTO deed ({_WORDS})"  # noqa: S608  (constants)
    f" SELECT 'purged', substr({_LAST}, {len(_MARK) + 1}, length({_LAST}) - {len(_MARK) + 1}), '',"
    f" substr(name, length({_LAST}) + 1), '', '[]', '', '', '1970-01-01T00:00:00+00:00',"
    f" '1970-01-01T00:00:00+00:00', '' FROM meta WHERE substr(name, 1, {len(_MARK)}) = '{_MARK}'",
    f"DELETE FROM meta WHERE substr(name, 1, {len(_MARK)}) = '{_MARK}'",  # noqa: S608
)
"""Until then corrections were a table of their own, and what was to be purged was marked."""

TABLES: Final = f"""
{_DEED}CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS seen_conversation (umo TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS map_key (key TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS lost_map_key (key TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS public_peer (person TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS use_count (
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, uses INTEGER NOT NULL,
    PRIMARY KEY (scope, memory_id));
CREATE TABLE IF NOT EXISTS turn (
    ticket_id TEXT PRIMARY KEY, scope TEXT NOT NULL, conversation TEXT NOT NULL,
    observed_at TEXT NOT NULL, person TEXT NOT NULL, who TEXT NOT NULL,
    user_text TEXT NOT NULL, reply_text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS seen_sender (
    umo TEXT NOT NULL, scope TEXT NOT NULL, adapter TEXT NOT NULL, group_id TEXT NOT NULL,
    peer TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (umo, adapter, group_id, peer))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS model_history (
    umo TEXT NOT NULL, history TEXT NOT NULL, scope TEXT NOT NULL, is_mixed INTEGER NOT NULL,
    PRIMARY KEY (umo, history)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS known_scope (scope TEXT NOT NULL PRIMARY KEY);
CREATE TABLE IF NOT EXISTS derived_scope (
    scope TEXT NOT NULL, conversation TEXT NOT NULL, adapter TEXT NOT NULL, own_id TEXT NOT NULL,
    PRIMARY KEY (scope, conversation)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS soul_head (
    role TEXT PRIMARY KEY, scope TEXT NOT NULL, n INTEGER NOT NULL, sha256 TEXT NOT NULL,
    version INTEGER NOT NULL, in_force TEXT NOT NULL);
"""
"""``turn`` is empty and stays so: turns stand in ``loop.sqlite``. Without it the format would be
another one, and an owner could not go back to the version before."""

STATE: Final = Schema(
    4,
    TABLES,
    # Records of decisions are told by the files alone since 4.
    older={2: _KNOWN_BEFORE_2, 3: _DEEDS_BEFORE_3, 4: ("DROP TABLE IF EXISTS record",)},
)
