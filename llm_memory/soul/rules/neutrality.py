"""Whether a new rule repeats what only private scopes hold: names, their words in a row, or a word
that a rule can only cite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ...models.data_models import Memory, StoredMemory
from ...models.passages import NoteChunk, has_known_readers, place_name
from ...models.scope import ROOT_NOTES, SHARED, Place
from ...models.soul import Finding
from ...text.scripts import HAN, NARROW, WIDE
from ...texts import Said
from .manner_cited import without_faces
from .manner_reading import folded, simplified, strange_in
from .manner_words import KINDS
from .soul_text import rules_of
from .vocabulary import LINES

SCOPE: Final = "scope"
_WORDS: Final = 4
_CHARACTERS: Final = 8
_PART: Final = 4
_NOT_HAN: Final = re.compile(f"[^{HAN.pattern[1:-1]}]+")
_SIGNS: Final = re.compile(r"[^\w\s]+")
_OF_ONE_SCRIPT: Final = re.compile(f"{HAN.pattern}{{2,}}|[a-z]{{3,}}")
_LEAST_STEM: Final = 4
_LONGEST_ENDING: Final = 3
_WIDE_RUN: Final = re.compile(f"{WIDE.pattern}+")
_UNSEEN: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\xad]")
_REPEATS: Final = Said("soul_rule.repeats")
_NOT_KNOWN: Final = Said("soul_rule.not_known")


@dataclass(frozen=True, slots=True)
class Heard:
    """What some places hold: names of speakers and scopes, and texts. ``texts`` is read more than
    once, so it is no iterator."""

    names: frozenset[str]
    texts: tuple[str, ...]


def heard(
    memories: Iterable[StoredMemory],
    names: Iterable[str],
    public_texts: Iterable[str],
    notes: Iterable[NoteChunk] = (),
    own: Place | None = None,
    archived: Iterable[Memory] = (),
) -> tuple[Heard, Heard]:
    """Returns what the private places hold, and what everybody may read.

    Args:
        memories: All of the catalogue. What stands on a person's shelf is private.
        names: More private names: scopes, nicknames.
        public_texts: What all read besides: the persona's prompt.
        notes: Of all places.
        own: The persona's, whose notes all read that its soul is shown to.
        archived: What people have forgotten, and former versions of what they changed, of all
            places: private, wherever it stood.
    """
    gone = tuple(archived)
    private_names = {*names, *(memory.provenance.who for memory in gone)}
    public_names = set[str]()
    private_texts = [_words_of(memory) for memory in gone]
    public = [*public_texts]
    for stored in memories:
        memory = stored.memory
        on_shelf = place_name(stored) != stored.scope.name
        is_public = (
            stored.scope.is_public and not on_shelf and has_known_readers(stored.scope, memory)
        )
        (public_names if is_public else private_names).add(memory.provenance.who)
        if not is_public:
            private_names.add(stored.scope.name)
        (public if is_public else private_texts).append(_words_of(memory))
    for note in notes:
        place, words = note.place, "\n".join((note.path, *note.headings, note.text))
        is_open = place.is_public or place in (SHARED, ROOT_NOTES, own)
        (public if is_open else private_texts).append(words)
    return (
        Heard(frozenset(private_names), tuple(private_texts)),
        Heard(frozenset(public_names), tuple(public)),
    )


def _words_of(memory: Memory) -> str:
    parts = (memory.judgment, memory.reasoning, memory.context, *memory.tags, *memory.asks)
    return "\n".join(filter(None, parts))


def neutral(old: str, new: str, private: Heard | None, public: Heard) -> Finding | None:
    """Returns why a new text is refused. The finding names neither the words nor the line.

    The rules in force and those of the vocabulary are not asked about. Reads all texts once: about
    a second for fifty thousand memories, so it belongs into a thread.

    Args:
        private: None while the memories are not all known: that refuses, too.
        public: What may be repeated.
    """
    known = {*rules_of(old), *LINES}
    added = [rule for rule in rules_of(new) if rule not in known]
    if not added:
        return None
    if private is None:
        return Finding(SCOPE, _NOT_KNOWN)
    text = "\n".join(added)
    names = [name for name in private.names if _is_named(name, text)]
    if any(not _is_public_name(name, public) for name in names):
        return Finding(SCOPE, _REPEATS)
    repeated = _found_in(private.texts, frozenset(_pieces(text)))
    if repeated - _found_in(public.texts, repeated):
        return Finding(SCOPE, _REPEATS)
    cited = frozenset(word for one in added for word in _cited(folded(without_faces(one))))
    if _named_in(private.texts, cited) - _named_in(public.texts, cited):
        return Finding(SCOPE, _REPEATS)
    return None


def _cited(seen: str) -> Iterator[str]:
    """Yields the words of a folded rule that are no known ones, also those that signs or a blank
    part, and what stands inside of them: an ending hides no word, nor does another character."""
    for form in (seen, _SIGNS.sub("", seen)):
        for word in strange_in(form):
            yield word
            for part in _OF_ONE_SCRIPT.findall(word.replace(" ", "")):
                least = 2 if HAN.match(part) else max(_LEAST_STEM, len(part) - _LONGEST_ENDING)
                for length in range(least, len(part) + 1):
                    yield from (part[at : at + length] for at in range(len(part) - length + 1))


def _is_named(name: str, text: str) -> bool:
    """A single character, and a word that any rule may have, is nobody's name there."""
    return bool(_named_in([text], [name]))


def _is_public_name(name: str, public: Heard) -> bool:
    return name in public.names or any(_is_named(name, text) for text in public.texts)


def _named_in(texts: Iterable[str], words: Iterable[str]) -> frozenset[str]:
    """Returns which of the words any of the texts has. Most rules cite nothing, and cost nothing
    here."""
    wide: dict[str, str] = {}
    narrow: dict[str, str] = {}
    for word in words:
        wanted = _read(word)
        if len(wanted) < 2 or wanted in KINDS:
            continue
        if WIDE.search(wanted):
            wide[word] = _joined(wanted)
        elif (spaced := _spaced(wanted)).strip():
            narrow[word] = spaced
    found: set[str] = set()
    for text in texts if wide or narrow else ():
        seen = _read(text)
        joined, spaced = _joined(seen) if wide else "", _spaced(seen) if narrow else ""
        found.update(word for word, wanted in wide.items() if wanted in joined)
        found.update(word for word, wanted in narrow.items() if wanted in spaced)
    return frozenset(found)


def _found_in(texts: Iterable[str], pieces: frozenset[str]) -> frozenset[str]:
    """Returns which of the pieces stand in any of the texts."""
    # Every piece of Han characters covers a part that begins at a multiple of the step: few texts
    # have such a part, and only those are read in full.
    step = _CHARACTERS - _PART + 1
    parts = {
        piece[start : start + _PART]
        for piece in pieces
        if HAN.match(piece)
        for start in range(step)
    }
    has_words = any(not HAN.match(piece) for piece in pieces)
    found: set[str] = set()
    for text in texts if pieces else ():
        folded = _folded(text)
        han = _NOT_HAN.sub("", folded) if parts else ""
        if any(han[at : at + _PART] in parts for at in range(0, len(han), step)):
            found.update(piece for piece in _han_pieces(han) if piece in pieces)
        if has_words:
            found.update(piece for piece in _word_pieces(folded) if piece in pieces)
    return frozenset(found)


def _pieces(text: str) -> Iterator[str]:
    """Yields the runs of Han characters, whatever stands between them, and of other words."""
    folded = _folded(text)
    yield from _han_pieces(_NOT_HAN.sub("", folded))
    yield from _word_pieces(folded)


def _han_pieces(han: str) -> Iterator[str]:
    for start in range(len(han) - _CHARACTERS + 1):
        yield han[start : start + _CHARACTERS]


def _word_pieces(folded: str) -> Iterator[str]:
    words = NARROW.findall(_WIDE_RUN.sub(" ", folded))
    for start in range(len(words) - _WORDS + 1):
        yield " ".join(words[start : start + _WORDS])


def _read(text: str) -> str:
    return _UNSEEN.sub("", folded(text))


def _folded(text: str) -> str:
    return _UNSEEN.sub("", simplified(text))


def _joined(folded: str) -> str:
    return "".join(char for char in folded if char.isalnum())


def _spaced(folded: str) -> str:
    return f" {' '.join(NARROW.findall(_WIDE_RUN.sub(' ', folded)))} "
