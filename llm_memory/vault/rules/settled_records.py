"""Which pieces of ``shared/`` belong to a record that a later one has superseded or withdrawn.

A record is never edited, so what settles it stands in another one, often in another file. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...models.decisions import RECORD_PATHS
from ...models.notes import NoteChunk
from ..markdown.decision_record import number_of, records_of, settled_by


def changed_standing(pieces: Iterable[NoteChunk]) -> list[NoteChunk]:
    """Returns the pieces whose ``settled`` is not what the records now say, corrected."""
    of_records = [piece for piece in pieces if piece.file in RECORD_PATHS]
    records = (found.record for piece in of_records for found in records_of(piece.text))
    settled = settled_by(records)
    changed = []
    for piece in of_records:
        numbers = [number for title in piece.headings if (number := number_of(title))]
        over = bool(numbers) and numbers[-1] in settled
        if over != piece.settled:
            changed.append(replace(piece, settled=over))
    return changed
