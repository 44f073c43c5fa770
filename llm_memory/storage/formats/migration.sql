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
