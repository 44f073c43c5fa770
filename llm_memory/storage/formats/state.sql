CREATE TABLE IF NOT EXISTS deed (
    number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, scope TEXT NOT NULL,
    target TEXT NOT NULL, memory_id TEXT NOT NULL, words TEXT NOT NULL, marks TEXT NOT NULL,
    person TEXT NOT NULL, who TEXT NOT NULL, said_at TEXT NOT NULL, at TEXT NOT NULL,
    by TEXT NOT NULL, actor TEXT NOT NULL DEFAULT '', door TEXT NOT NULL DEFAULT '',
    before TEXT NOT NULL DEFAULT '', after TEXT NOT NULL DEFAULT '',
    batch TEXT NOT NULL DEFAULT '', undoable INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS seen_conversation (umo TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS map_key (key TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS lost_map_key (key TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS public_peer (person TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS use_count (
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, uses INTEGER NOT NULL,
    PRIMARY KEY (scope, memory_id));
-- It is empty and stays so: turns stand in loop.sqlite. Without it the format would be another one, and an
-- owner could not go back to the version before.
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
