"""What the pieces of ``shared/`` are told of their records: the reference, the proposal, and
whether a later one has superseded or withdrawn it.

A record is never edited, so what settles it stands in another one, often in another file. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ...models.decisions import RECORD_PATHS, Reference
from ...models.passages import NoteChunk
from ..markdown.decision_record import Record, number_of, records_of, settled_by

_LONGEST: Final = 200
"""Characters of a reference that are shown: a person may write anything in its place."""


def changed_marks(pieces: Iterable[NoteChunk]) -> list[NoteChunk]:
    """Returns the pieces whose marks are not what the records now say, corrected."""
    of_records = (piece for piece in pieces if piece.file in RECORD_PATHS)
    in_order = sorted(of_records, key=lambda piece: (piece.path, piece.first))
    begun = [(piece, _begun(piece)) for piece in in_order]
    settled = settled_by(record for _, record in begun if record)
    current: Record | None = None
    changed = []
    for piece, record in begun:
        current = record or current
        number = _number(piece)
        mine = current if current is not None and number == current.number else None
        marked = replace(
            piece,
            settled=number in settled,
            reference=_words(mine.reference) if mine else "",
            proposal=mine.proposal if mine else "",
        )
        if marked != piece:
            changed.append(marked)
    return changed


def record_of(pieces: Iterable[NoteChunk], proposal: str) -> NoteChunk | None:
    """Returns the piece that the record of a proposal begins with, by the proposal's key. Numbers
    do not tell: two branches of one repository may give the same."""
    found = [piece for piece in pieces if proposal and piece.proposal == proposal]
    return min(found, key=lambda piece: piece.first, default=None)


def _begun(piece: NoteChunk) -> Record | None:
    """Returns the record that begins in a piece."""
    found = records_of(piece.text)
    return found[0].record if found else None


def _number(piece: NoteChunk) -> int:
    """Returns the number in the nearest heading that has one, 0 for none."""
    numbers = [number for title in piece.headings if (number := number_of(title))]
    return numbers[-1] if numbers else 0


def _words(reference: Reference) -> str:
    named = (("Issue", reference.issue), ("PR", reference.pr))
    return " · ".join(f"{name} {text[:_LONGEST]}" for name, text in named if text)
