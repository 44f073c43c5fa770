"""What refuses a new text of a soul: the rules, and what only private places hold, which is a name
or words in a row.

A soul is read in every scope. What is counted has words of a fixed list, so this is about what
somebody typed.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..errors import VaultFileBroken
from ..models.data_models import Memory, StoredMemory
from ..models.passages import NoteChunk, has_known_readers, place_name
from ..models.scope import ROOT_NOTES, SHARED, Place, Scope
from ..models.soul import Finding
from ..runtime.cooperative import cooperative
from ..runtime.lifecycle import Lifespan
from ..text.scripts import NARROW, WIDE, fold
from ..texts import Said
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.note_book import NoteBook
from .rules.checks import added_rules, complaints
from .rules.soul_text import manners

_RUNS: Final = ((True, 8), (False, 4))
"""So many words in a row are told again: of wide characters, each a word, and of others."""
_UNSEEN: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")


@dataclass(frozen=True, slots=True)
class Told:
    """A text, whether everybody may read it, and the names that go with it."""

    text: str
    is_open: bool
    names: tuple[str, ...] = ()


@dataclass(eq=False)
class Complaints:
    """``persona_prompt`` returns AstrBot's own of a role, which everybody may read."""

    _catalogue: Catalogue
    _note_book: NoteBook
    _vault: MarkdownVault
    _life: Lifespan
    _persona_prompt: Callable[[str], Awaitable[str]]

    async def of(self, role: str) -> Callable[[str, str], tuple[Finding, ...]]:
        """Returns what says why a new text over the text in force is refused, by what is known
        now. That blocks."""
        if not self._note_book.scanned:
            await self._note_book.refresh()
        memories, is_whole = list(self._catalogue.all()), self._life.is_ready
        notes, own = list(self._note_book.all()), Place.of_folder(role)
        prompt = Told(await self._persona_prompt(role), is_open=True)

        def refuse(old: str, new: str) -> tuple[Finding, ...]:
            told: list[Told] | None = None
            with suppress(VaultFileBroken):
                archived, scopes = self._vault.archived_anywhere(), self._vault.scopes()
                told = [prompt, *told_anywhere(memories, notes, archived, scopes, own)]
            return (*complaints(old, new), *repeated(old, new, told if is_whole else None))

        return refuse


def told_anywhere(
    memories: Iterable[StoredMemory],
    notes: Iterable[NoteChunk],
    archived: Iterable[Memory],
    scopes: Iterable[Scope],
    own: Place | None,
) -> Iterator[Told]:
    """Yields what is known. ``own``: the persona's place, whose notes all read that its soul is
    shown to. What is archived was forgotten or corrected, so it is private wherever it stood."""
    yield Told("\n".join(manners()), is_open=True)
    yield Told("", is_open=False, names=tuple(one.name for one in scopes if not one.is_public))
    for stored in cooperative(memories):
        scope = stored.scope
        on_shelf = place_name(stored) != scope.name
        is_open = scope.is_public and not on_shelf and has_known_readers(scope, stored.memory)
        yield _of_memory(stored.memory, is_open)
    for memory in archived:
        yield _of_memory(memory, is_open=False)
    for note in notes:
        is_open = note.place.is_public or note.place in (SHARED, ROOT_NOTES, own)
        yield Told("\n".join((note.path, *note.headings, note.text)), is_open)


def _of_memory(memory: Memory, is_open: bool) -> Told:
    parts = (memory.judgment, memory.reasoning, memory.context, *memory.tags, *memory.asks)
    return Told("\n".join(filter(None, parts)), is_open, (memory.provenance.who,))


def repeated(old: str, new: str, told: Collection[Told] | None) -> tuple[Finding, ...]:
    """Returns why a new text is refused, empty for nothing. The finding names no words: they are
    another scope's. Reads all texts once, some three seconds for fifty thousand. Blocks.

    Args:
        told: None while not all memories could be read: that refuses, too.
    """
    added = "\n".join(added_rules(old, new))
    if not added:
        return ()
    if told is None:
        return (Finding(Said("soul_rule.not_known")),)
    said, runs = _phrase(added), frozenset(_runs(added))
    known = {name: _phrase(name) for one in cooperative(told) for name in one.names}
    # A single character is nobody's name.
    names = {name: one for name, one in known.items() if len(one) > len(" a ") and one in said}
    closed, opened = set[str](), set[str]()
    for one in cooperative(told):
        found = runs.intersection(_runs(one.text)) | names.keys() & one.names
        if one.is_open:
            text = _phrase(one.text) if names else ""
            opened |= found | {name for name, phrase in names.items() if phrase in text}
        else:
            closed |= found
    return () if closed <= opened else (Finding(Said("soul_rule.repeats")),)


def _words(text: str) -> list[str]:
    """Returns the words, whatever stands between them; a wide character is one."""
    folded = _UNSEEN.sub("", fold(text))
    return NARROW.findall(WIDE.sub(r" \g<0> ", folded))


def _phrase(text: str) -> str:
    """Returns what holds the phrase of each name that stands in the text."""
    return f" {' '.join(_words(text))} "


def _runs(text: str) -> Iterator[str]:
    words = _words(text)
    for is_wide, length in _RUNS:
        some = [word for word in words if bool(WIDE.match(word)) is is_wide]
        yield from (" ".join(some[at : at + length]) for at in range(len(some) - length + 1))
