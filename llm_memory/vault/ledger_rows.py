"""How the ledger's file is made: its tables, and what stands in their rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ..storage.formats.schema import Schema
from .markdown.entry import parse, render
from .models import KnownEntry, KnownFile

_TABLES = """
CREATE TABLE IF NOT EXISTS file (
    scope TEXT NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL, plain TEXT NOT NULL,
    timeless INTEGER NOT NULL, PRIMARY KEY (scope, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entry (
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, path TEXT NOT NULL, text TEXT NOT NULL,
    digest TEXT NOT NULL, appended INTEGER NOT NULL, appended_at REAL NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, returned INTEGER NOT NULL, prior TEXT NOT NULL,
    prior_digest TEXT NOT NULL, rewritten_at REAL NOT NULL, held INTEGER NOT NULL,
    PRIMARY KEY (scope, memory_id));
CREATE INDEX IF NOT EXISTS entry_place ON entry (scope, path);
CREATE INDEX IF NOT EXISTS entry_name ON entry (memory_id);
CREATE TABLE IF NOT EXISTS departed (
    scope TEXT NOT NULL, path TEXT NOT NULL, memory_id TEXT NOT NULL, digest TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (scope, memory_id));
CREATE TABLE IF NOT EXISTS moving (
    memory_id TEXT PRIMARY KEY, scope TEXT NOT NULL, target TEXT NOT NULL);
DROP TABLE IF EXISTS deed;
"""
"""The last line: a former version noted there what could be undone."""
LEDGER = Schema(1, _TABLES)
_NO_TIME = datetime.fromtimestamp(0, UTC)
PUT_ENTRY = f"INSERT OR REPLACE INTO entry VALUES ({', '.join('?' * 14)})"  # noqa: S608


def file_of(row: tuple[Any, ...]) -> KnownFile:
    """A row of ``file``."""
    scope, path, digest, plain, timeless = row
    return KnownFile(scope, path, digest, plain, bool(timeless))


def row_of(entry: KnownEntry) -> tuple[object, ...]:
    """What ``PUT_ENTRY`` puts."""
    return (
        entry.scope,
        entry.memory_id,
        entry.path,
        render(entry.memory),
        entry.digest,
        entry.appended,
        entry.appended_at,
        entry.before,
        entry.after,
        entry.returned,
        render(entry.prior) if entry.prior else "",
        entry.prior_digest,
        entry.rewritten_at,
        entry.held,
    )


def entry_of(row: tuple[Any, ...]) -> KnownEntry:
    """A row of ``entry``."""
    scope, _, path, text, digest, *marks = row
    appended, appended_at, before, after, returned, prior, prior_digest, rewritten_at, held = marks
    return KnownEntry(
        scope=scope,
        path=path,
        memory=parse(text, fallback_time=_NO_TIME),
        digest=digest,
        appended=appended,
        appended_at=appended_at,
        before=before,
        after=after,
        returned=bool(returned),
        prior=parse(prior, fallback_time=_NO_TIME) if prior else None,
        prior_digest=prior_digest,
        rewritten_at=rewritten_at,
        held=bool(held),
    )
