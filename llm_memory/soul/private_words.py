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
from itertools import chain
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..errors import VaultFileBroken
from ..models.data_models import Memory, StoredMemory
from ..models.passages import NoteChunk, has_known_readers, place_name
from ..models.scope import ROOT_NOTES, SHARED, Place, Scope
from ..models.soul import Finding
from ..runtime.cooperative import cooperative
from ..runtime.lifecycle import Lifespan
from ..text.normalising import normalise
from ..text.scripts import NARROW, WIDE, fold
from ..text.traditional import simplified
from ..texts import Said
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.note_book import NoteBook
from .rules.checks import added_rules, complaints
from .rules.soul_text import manners

_WORDS: Final = 4
_CHARACTERS: Final = 8
_NOT_WIDE: Final = re.compile(f"[^{WIDE.pattern[1:-1]}]+")
_UNSEEN: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")
_WIDE_RUN: Final = re.compile(f"{WIDE.pattern}+")


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
        scope, memory = stored.scope, stored.memory
        on_shelf = place_name(stored) != scope.name
        is_open = scope.is_public and not on_shelf and has_known_readers(scope, memory)
        yield Told(_words_of(memory), is_open, (memory.provenance.who,))
    for memory in archived:
        yield Told(_words_of(memory), is_open=False, names=(memory.provenance.who,))
    for note in notes:
        is_open = note.place.is_public or note.place in (SHARED, ROOT_NOTES, own)
        yield Told("\n".join((note.path, *note.headings, note.text)), is_open)


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
        return (Finding("scope", Said("soul_rule.not_known")),)
    runs = frozenset(_runs(added))
    closed, opened = set[str](), set[str]()
    known = set(chain.from_iterable(one.names for one in cooperative(told)))
    names = {name for name in known if _is_named(name, added)}
    for one in cooperative(told):
        found = runs.intersection(_runs(one.text)) | names.intersection(one.names)
        if one.is_open:
            opened |= found
            opened.update(name for name in names if _is_named(name, one.text))
        else:
            closed |= found
    return () if closed <= opened else (Finding("scope", Said("soul_rule.repeats")),)


def _words_of(memory: Memory) -> str:
    parts = (memory.judgment, memory.reasoning, memory.context, *memory.tags, *memory.asks)
    return "\n".join(filter(None, parts))


def _runs(text: str) -> Iterator[str]:
    """Yields each eight wide characters in a row, whatever stands between them, and each four other
    words."""
    folded = _folded(text)
    wide = _NOT_WIDE.sub("", folded)
    yield from (wide[at : at + _CHARACTERS] for at in range(len(wide) - _CHARACTERS + 1))
    words = _narrow(folded)
    yield from (" ".join(words[at : at + _WORDS]) for at in range(len(words) - _WORDS + 1))


def _is_named(name: str, text: str) -> bool:
    """A single character is nobody's name."""
    if WIDE.search(name):
        wanted = normalise(simplified(name))
        return len(wanted) > 1 and wanted in normalise(simplified(text))
    words = " ".join(_narrow(_folded(name)))
    return len(words) > 1 and f" {words} " in f" {' '.join(_narrow(_folded(text)))} "


def _folded(text: str) -> str:
    return _UNSEEN.sub("", simplified(fold(text)))


def _narrow(folded: str) -> list[str]:
    return NARROW.findall(_WIDE_RUN.sub(" ", folded))
