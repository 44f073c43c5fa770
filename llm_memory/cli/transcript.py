"""``transcript``: the talk that a memory came from, for the owner, out of AstrBot's database."""

from __future__ import annotations

import argparse
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.talk_anchor import anchor_of
from ..catalogue.rules.talk_history import find_turn, turns_of
from ..models.data_models import Memory
from ..models.transfer import MemoryRecord
from ..texts import at
from ..transfer.store_reader import StoreReader
from .messages import DONE, MISUSED, fail, say
from .paths import BotStore

_BESIDE: Final = 2
_QUERY: Final = "SELECT content FROM conversations WHERE conversation_id = ? AND user_id = ?"


def transcript(args: argparse.Namespace, store: BotStore) -> int:
    """Print the turn and those beside it. Reads alone, also while the bot runs."""
    memory_id = pointed_id(args.pointer)
    if memory_id is None:
        return fail("transcript.no_id", exit_code=MISUSED)
    memory = _living(store.paths.memory, memory_id)
    if memory is None:
        return fail("transcript.no_memory", id=memory_id)
    noted = anchor_of(memory)
    if noted is None:
        return fail("reject.never_kept")
    history, digest = noted
    database = store.paths.data.parent.parent / "data_v4.db"
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            kept = connection.execute(_QUERY, (history, memory.provenance.conversation)).fetchone()
    except sqlite3.Error as error:
        return fail(at(database, "path.unreadable", why=error))
    turns = turns_of(str(kept[0])) if kept else []
    said_at = None if memory.undated else memory.created_at.replace(tzinfo=None)
    place = find_turn(turns, digest, said_at)
    if place is None:
        return fail("reject.gone")
    for number in range(max(place - _BESIDE, 0), min(place + _BESIDE + 1, len(turns))):
        turn, mark = turns[number], "→ " if number == place else ""
        time = f"[{turn.at:%Y-%m-%d %H:%M}] " if turn.at else ""
        say("transcript.person", before=f"{mark}{time}", text=turn.said)
        if turn.replied:
            say("talk.replied", text=turn.replied)
    return DONE


def _living(memories: Path, memory_id: str) -> Memory | None:
    """Returns the living entry with that id, in whatever scope."""
    entries = (one for one in StoreReader(memories).records() if isinstance(one, MemoryRecord))
    living = (one.memory for one in entries if one.state == "living")
    return next((memory for memory in living if memory.memory_id == memory_id), None)
