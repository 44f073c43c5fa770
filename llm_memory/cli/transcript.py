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
from ..models.transfer import EntryState, MemoryRecord
from ..transfer.store_reader import StoreReader
from .messages import DONE, MISUSED, fail, say, shown, words
from .paths import BotStore

_BESIDE: Final = 2
_QUERY: Final = "SELECT content FROM conversations WHERE conversation_id = ? AND user_id = ?"


def transcript(args: argparse.Namespace, store: BotStore) -> int:
    """Print the turn and those beside it. Reads alone, also while the bot runs."""
    memory_id = pointed_id(args.pointer)
    if memory_id is None:
        return fail("要写编号或出处，如 m-01…", "name an id or a pointer, as m-01…", code=MISUSED)
    memory = _living(store.paths.memory, memory_id)
    if memory is None:
        return fail(f"没有这一条：{memory_id}", f"no such memory: {memory_id}")
    noted = anchor_of(memory)
    if noted is None:
        return fail("没有记下这一条出自哪段对话", "it is not noted in which talk this was said")
    history, digest = noted
    database = store.paths.data.parent.parent / "data_v4.db"
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            kept = connection.execute(_QUERY, (history, memory.provenance.conversation)).fetchone()
    except sqlite3.Error as error:
        return fail(f"读不了 {database}：{error}", f"cannot read {database}: {error}")
    turns = turns_of(str(kept[0])) if kept else []
    said_at = None if memory.undated else memory.created_at.replace(tzinfo=None)
    place = find_turn(turns, digest, said_at)
    if place is None:
        return fail("AstrBot 已经没有这段对话", "AstrBot does not have this talk any more")
    for number in range(max(place - _BESIDE, 0), min(place + _BESIDE + 1, len(turns))):
        turn, mark = turns[number], "→ " if number == place else ""
        time = f"[{turn.at:%Y-%m-%d %H:%M}] " if turn.at else ""
        say(f"{mark}{time}{words('人', 'person')}: {shown(turn.said)}")
        if turn.replied:
            say(f"{words('机器人', 'bot')}: {shown(turn.replied)}")
    return DONE


def _living(memories: Path, memory_id: str) -> Memory | None:
    """Returns the living entry with that id, in whatever scope."""
    entries = (one for one in StoreReader(memories).records() if isinstance(one, MemoryRecord))
    living = (one.memory for one in entries if one.state is EntryState.LIVING)
    return next((memory for memory in living if memory.memory_id == memory_id), None)
