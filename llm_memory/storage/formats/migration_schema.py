"""The tables of ``migration.sqlite``, and the steps that bring older ones up."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .state_schema import Step, write_stamp

FORMAT: Final = 1

STEPS: Final[Mapping[int, Step]] = MappingProxyType({})
"""By the number that a step starts from."""

TABLES: Final = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS job (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, source TEXT NOT NULL, batch TEXT NOT NULL,
    state TEXT NOT NULL, begun TEXT NOT NULL, detail TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS outcome (
    job TEXT NOT NULL, record_id TEXT NOT NULL, fate TEXT NOT NULL, patched INTEGER,
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (job, record_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS before (
    job TEXT NOT NULL, record_id TEXT NOT NULL, scope TEXT NOT NULL, metadata TEXT NOT NULL,
    PRIMARY KEY (job, record_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS added (
    batch TEXT NOT NULL, scope TEXT NOT NULL, memory_id TEXT NOT NULL, digest TEXT NOT NULL,
    record_id TEXT NOT NULL,
    PRIMARY KEY (batch, scope, memory_id)) WITHOUT ROWID;
"""


def make_tables(connection: sqlite3.Connection, written_by: str) -> None:
    """Whatever is missing. A number that stands there stays, and so does who wrote it."""
    connection.executescript(TABLES)
    if not connection.execute("SELECT 1 FROM meta WHERE name = 'format'").fetchall():
        write_stamp(connection, FORMAT, written_by)
