"""What recall finds: a memory or a piece of a note. Both arms, the fusion and the writers of the
indexes take a ``Passage`` and ask these functions, so that neither kind is a special case.

- in the index a passage stands under ``Key(place_name(p), passage_id(p))``: the place's name is a
  scope's or a shelf's (``@shared``, ``@role:…``, ``@person:…``), and ``ScopeFilter.names`` and
  ``admits`` go by it; ids begin with ``m-`` or ``n-``;
- ``catalogue/rules/passage_text.py`` has the texts: what is indexed and embedded, the context,
  what a preview is cut from;
- ``vault/notes/note_book.py`` holds the pieces of notes as the catalogue holds memories:
  ``get(key)``, ``find(id, filter)``, ``visible(filter)``, ``all()``, ``len()``. Its followers are
  told by ``enqueue`` and ``enqueue_removal``, as those of ``RecallableMemories`` are.
"""

from __future__ import annotations

from datetime import datetime

from .consent import only_reader
from .data_models import StoredMemory
from .notes import NoteChunk

type Passage = StoredMemory | NoteChunk


def place_name(passage: Passage) -> str:
    """The name that filters go by: the scope's, or the shelf's."""
    if isinstance(passage, NoteChunk):
        return passage.place.name
    shelf = only_reader(passage.scope, passage.memory)
    return passage.scope.name if shelf is None else shelf.name


def passage_id(passage: Passage) -> str:
    """``m-…`` or ``n-…``."""
    return passage.note_id if isinstance(passage, NoteChunk) else passage.memory.memory_id


def said_by(passage: Passage) -> str:
    """The speaker's name; a note has none."""
    return "" if isinstance(passage, NoteChunk) else passage.memory.who


def moment_of(passage: Passage) -> datetime:
    """When it was said or decided, or the note last written."""
    return passage.modified if isinstance(passage, NoteChunk) else passage.memory.created_at
