"""What a run leaves on disk: the vault's Markdown files and AstrBot's chat history."""

import contextlib
import json
import sqlite3
from pathlib import Path

from .script import JsonObject


def files_with(memory: Path, words: str) -> list[Path]:
    """The vault's files that contain `words`, as paths from `memory` on."""
    return [
        path.relative_to(memory)
        for path in sorted(memory.rglob("*.md"))
        if words in path.read_text(encoding="utf-8", errors="replace")
    ]


def scopes_with(memory: Path, words: str) -> set[str]:
    """The scope folders that hold `words`; archived text does not count."""
    return {
        path.parts[1]
        for path in files_with(memory, words)
        if path.parts[0] == "scopes" and "archive" not in path.parts
    }


def history(data: Path, umo: str) -> list[JsonObject]:
    with contextlib.closing(sqlite3.connect(f"file:{data / 'data_v4.db'}?mode=ro", uri=True)) as db:
        rows = db.execute(
            "SELECT content FROM conversations WHERE user_id = ? ORDER BY inner_conversation_id",
            (umo,),
        ).fetchall()
    return [message for (content,) in rows for message in json.loads(content or "[]")]


def noted_turns(plugin_data: Path, words: str) -> list[str]:
    """What people said, of the turns that are kept to be read, or for the journal of their day."""
    path = plugin_data / "state" / "loop.sqlite"
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT user_text FROM turn ORDER BY place").fetchall()
    return [text for (text,) in rows if words in text]
