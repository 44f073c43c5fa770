CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS turn (
    place INTEGER PRIMARY KEY AUTOINCREMENT, ticket_id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL, conversation TEXT NOT NULL, persona TEXT NOT NULL,
    observed_at TEXT NOT NULL, person TEXT NOT NULL, who TEXT NOT NULL, user_text TEXT NOT NULL,
    reply_text TEXT NOT NULL, recalled TEXT NOT NULL, map_key TEXT NOT NULL,
    admin INTEGER NOT NULL, stored TEXT NOT NULL, history TEXT NOT NULL,
    batch_id TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS turn_by_batch ON turn (batch_id);
CREATE INDEX IF NOT EXISTS turn_by_line ON turn (scope, conversation, persona);
CREATE TABLE IF NOT EXISTS batch (
    batch_id TEXT PRIMARY KEY, scope TEXT NOT NULL, conversation TEXT NOT NULL,
    reply TEXT NOT NULL, error TEXT NOT NULL);
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
CREATE TABLE IF NOT EXISTS style (
    scope TEXT NOT NULL, role TEXT NOT NULL, week TEXT NOT NULL, axis TEXT NOT NULL,
    direction TEXT NOT NULL, person TEXT NOT NULL,
    PRIMARY KEY (scope, role, week, axis, direction, person)) WITHOUT ROWID;
