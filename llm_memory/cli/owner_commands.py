"""``list``, ``forget``, ``edit``, ``undo``, ``trust``: what an owner does to memories."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from ..errors import HomeError, ScopedMemoryError
from ..mcp_server.levels import PROJECT
from ..models.data_models import (
    Changed,
    Refused,
    StoredMemory,
    absent,
    is_absent,
    is_denied,
    shown_day,
)
from ..models.deeds import DeedKind
from ..models.status import Listing
from ..text.normalising import one_line, preview
from ..text.refusal_words import refusal_words
from ..texts import Said
from .agent_commands import content_of
from .home_flags import wants_json
from .messages import DONE, FAILED, PARTLY, fail, say, show, show_json, shown, words
from .owner_levels import OwnerLevel, asked, memory_id_of, stores_here

_PREVIEW: Final = 300
"""Characters of a memory that ``list`` shows."""

type _Ask = Callable[[OwnerLevel, str], Awaitable[Any]]
type _Told = tuple[Said, dict[str, object]]
"""What became of a memory, for a person and for scripts."""


def list_(args: argparse.Namespace) -> int:
    """Print the newest memories. Raises HomeError."""

    async def work(levels: Sequence[OwnerLevel]) -> list[tuple[OwnerLevel, Listing]]:
        chosen = [one for one in levels if one.level.name == args.level] or stores_here(levels)
        if args.level not in (None, chosen[0].level.name):
            raise HomeError("memories.no_project")
        return [(one, await ask(one)) for one in chosen]

    async def ask(one: OwnerLevel) -> Listing:
        return await one.owner.listed(
            conversation_id=one.level.conversation,
            limit=args.limit,
            naming=" ".join(args.words),
            public=args.level != PROJECT or one.level.own_store,
        )

    listings = asked(args, work)
    found = [(one, stored) for one, listing in listings for stored in listing.memories]
    found.sort(key=lambda pair: pair[1].memory.created_at, reverse=True)
    more = len(found) > args.limit or any(listing.more for _, listing in listings)
    found = found[: args.limit]
    if wants_json(args):
        show_json({"memories": [one.as_json(stored) for one, stored in found], "more": more})
        return DONE
    for one, stored in found:
        day = shown_day(stored.memory.created_at, words("inject.undated"))
        path, _, memory_id = one.pointer(stored).rpartition("#")
        show(f"{day}  {memory_id}  {path}  {preview(_line(stored), _PREVIEW)}")
    if not found:
        say("memories.none")
    if more:
        say("memories.older")
    return DONE


def correct(args: argparse.Namespace) -> int:
    """Forget, edit, undo or vouch for each memory that is named. Raises HomeError before the
    first."""
    ids = list(dict.fromkeys(map(memory_id_of, args.ids)))
    text = content_of(args) if args.command == "edit" else ""  # a person may be typing

    def ask(one: OwnerLevel, memory_id: str) -> Awaitable[Any]:
        where = one.level.conversation
        if args.command == "forget":
            return one.owner.forget(memory_id, conversation_id=where)
        if args.command == "edit":
            return one.owner.edit(memory_id, text, conversation_id=where)
        if args.command == "trust":
            return one.owner.vouch(memory_id, withdrawn=args.no, conversation_id=where)
        return one.owner.restore(memory_id, conversation_id=where)

    told = asked(args, lambda levels: _all_told(levels, ids, ask))
    done = sum(row["ok"] is True for _, row in told)
    code = DONE if done == len(told) else PARTLY if done else FAILED
    if wants_json(args):
        rows = [{**row, "said": shown(words(said))} for said, row in told]
        show_json({"code": code, "memories": rows})
        return code
    for said, row in told:
        (say if row["ok"] else fail)(said)
    return code


async def _all_told(levels: Sequence[OwnerLevel], ids: Sequence[str], ask: _Ask) -> list[_Told]:
    told: list[_Told] = []
    for number, memory_id in enumerate(ids):
        try:
            told.append(_told(memory_id, *await _nearest(levels, memory_id, ask)))
        except ScopedMemoryError as error:
            # What was done before has to be told, and what is left would fail alike.
            why = Said("cli.not_done", why=error)
            return told + [(why, {"ok": False, "id": left}) for left in ids[number:]]
    return told


async def _nearest(
    levels: Sequence[OwnerLevel], memory_id: str, ask: _Ask
) -> tuple[OwnerLevel, Any]:
    """Returns what the nearest level says that has the memory, else that it is not visible."""
    nowhere = levels[0], absent(memory_id)
    for one in levels:
        answer = await ask(one, memory_id)
        if is_absent(answer):
            nowhere = nowhere if answer == nowhere[1] else (one, answer)
        elif not is_denied(answer):  # that one stands at the other level
            return one, answer
    return nowhere


def _told(memory_id: str, one: OwnerLevel, answer: Any) -> _Told:
    # A home reads no turns, so nothing that waits to be read is purged.
    if not isinstance(answer, Changed):
        return _why_not(memory_id, answer), {"ok": False, "id": memory_id}
    stored = answer.memory
    what, row = f"{one.pointer(stored)}: {_line(stored)}", {"ok": True, **one.as_json(stored)}
    match answer:
        case Changed(DeedKind.FORGOTTEN, undone=False):
            return Said("memories.forgotten", memory=what, id=stored.memory.memory_id), row
        case Changed(DeedKind.EDITED, undone=False, before=before):
            row["before"] = before
            return Said("memories.edited", memory=what, before=one_line(before)), row
        case Changed(DeedKind.AMENDED, undone=False):
            if not stored.memory.provenance.trusted:
                return Said("memories.unvouched", memory=what), row
            quoted = stored.memory.quoted
            return Said("memories.quoted" if quoted else "memories.vouched", memory=what), row
        case Changed(DeedKind.FORGOTTEN | DeedKind.REPLACED):
            return Said("memories.restored", memory=what), row
    return Said("memories.undone", memory=what), row


def _why_not(memory_id: str, answer: object) -> Said:
    match answer:
        case Refused("forgotten"):
            return Said("memories.forgotten_before", id=memory_id)
        case Refused() if not is_absent(answer) and not is_denied(answer):
            return Said("memories.not_changed", why=refusal_words(answer))
    # The same for one that is nowhere and one of another project's.
    return Said("memories.not_here", id=memory_id)


def _line(stored: StoredMemory) -> str:
    return shown(one_line(stored.memory.judgment))
