"""The tables of ``loop.sqlite``, and the steps that bring older ones up.

Every table that holds words, or says what was done to a memory, carries the scope.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .state_schema import Step, write_stamp

FORMAT: Final = 4


def _from_1(connection: sqlite3.Connection) -> None:
    """Turns say whether an admin spoke. The new tables are made by ``make_tables``."""
    connection.execute("ALTER TABLE turn ADD COLUMN is_admin INTEGER NOT NULL DEFAULT 0")


def _from_2(connection: sqlite3.Connection) -> None:
    """Turns say which memories were stored in them, and in which chat history they were said; of
    those that wait neither is known."""
    connection.execute("ALTER TABLE turn ADD COLUMN stored TEXT NOT NULL DEFAULT '[]'")
    connection.execute("ALTER TABLE turn ADD COLUMN history TEXT NOT NULL DEFAULT ''")


def _from_3(connection: sqlite3.Connection) -> None:
    """A night that was interrupted begins anew, so it keeps no plan. Shares are counted by group,
    from this day on; the day's whole is in ``spent``."""
    for table in ("sleep_step", "sleep_fade", "sleep_quota", "sleep_departure", "share"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")


STEPS: Final[Mapping[int, Step]] = MappingProxyType({1: _from_1, 2: _from_2, 3: _from_3})
"""By the number that a step starts from."""

TABLES: Final = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS turn (
    place INTEGER PRIMARY KEY AUTOINCREMENT, ticket_id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL, conversation TEXT NOT NULL, persona TEXT NOT NULL,
    observed_at TEXT NOT NULL, instant REAL NOT NULL, day TEXT NOT NULL,
    person TEXT NOT NULL, who TEXT NOT NULL, user_text TEXT NOT NULL, reply_text TEXT NOT NULL,
    recalled TEXT NOT NULL, map_key TEXT NOT NULL,
    batch_id TEXT NOT NULL DEFAULT '', is_read INTEGER NOT NULL DEFAULT 0,
    is_admin INTEGER NOT NULL DEFAULT 0, stored TEXT NOT NULL DEFAULT '[]',
    history TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS turn_by_batch ON turn (batch_id, is_read);
CREATE INDEX IF NOT EXISTS turn_by_day ON turn (is_read, scope, day);
CREATE TABLE IF NOT EXISTS batch (
    place INTEGER PRIMARY KEY AUTOINCREMENT, batch_id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL, conversation TEXT NOT NULL, persona TEXT NOT NULL, made_at TEXT NOT NULL,
    state TEXT NOT NULL, reply TEXT NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pause (
    conversation TEXT PRIMARY KEY, scope TEXT NOT NULL, since TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS last_seen (
    conversation TEXT PRIMARY KEY, scope TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS evidence (
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, useful INTEGER NOT NULL, useless INTEGER NOT NULL,
    PRIMARY KEY (scope, memory_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (
    day TEXT PRIMARY KEY, calls INTEGER NOT NULL, failed INTEGER NOT NULL, tokens INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS share (
    day TEXT NOT NULL, scope TEXT NOT NULL, tokens INTEGER NOT NULL, dropped INTEGER NOT NULL,
    PRIMARY KEY (day, scope)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sleep_run (
    place INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL UNIQUE, is_ended INTEGER NOT NULL,
    report TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sleep_compared (
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (scope, memory_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sleep_day (
    scope TEXT NOT NULL, day TEXT NOT NULL, nights INTEGER NOT NULL, is_written INTEGER NOT NULL,
    PRIMARY KEY (scope, day)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS soul_answer (
    scope TEXT NOT NULL, prompt TEXT NOT NULL, probe TEXT NOT NULL, model TEXT NOT NULL,
    passed INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (scope, prompt, probe, model)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS style (
    scope TEXT NOT NULL, role TEXT NOT NULL, week TEXT NOT NULL, axis TEXT NOT NULL,
    direction TEXT NOT NULL, person TEXT NOT NULL,
    PRIMARY KEY (scope, role, week, axis, direction, person)) WITHOUT ROWID;
"""


def make_tables(connection: sqlite3.Connection, written_by: str) -> None:
    """Whatever is missing. A number that stands there stays, and so does who wrote it."""
    connection.executescript(TABLES)
    if not connection.execute("SELECT 1 FROM meta WHERE name = 'format'").fetchall():
        write_stamp(connection, FORMAT, written_by)
