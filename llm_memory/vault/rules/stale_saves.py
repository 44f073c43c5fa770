"""Whether a file was saved by somebody who did not know what the bot had written meanwhile.

The bot appends to a file while a person has it open in an editor. What he saves then descends from
an older version: entries that the bot appended since are missing in it, and nobody deleted them.
They are told from deleted ones like this. A save that holds an entry of the bot's descends from a
version at least as new as that entry, so all older ones that are missing were deleted. Of the ones
that are newer than all that it holds, two things tell: if something else was changed by the same
save, they are taken for missing (they come back; the worst is that a person deletes one twice). If
nothing else was, a person did just that: he deleted them; unless the file is, byte by byte, an
older version of the same hour.

What the bot rewrote and the save has as it was before is told alike. A save that holds something
which the bot appended after that knows of it: a person took it back. So he did if he changed
nothing else. Nobody takes back by hand what only made an entry stronger.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...models.data_models import Memory
from ..models import BUFFER_SECONDS, EMPTY, KnownEntry, KnownFile, SeenEntry, SeenFile

SAVED_AS_IT_WAS_SECONDS: Final = 3600.0
"""So long after an append, a file that is as it was before counts as an old version of it."""
_WORDS: Final = frozenset({"judgment", "reasoning"})


@dataclass(frozen=True, slots=True)
class Save:
    """A file that somebody saved.

    Attributes:
        file: How it is.
        known: How it was.
        rows: The entries that it had.
        here: The digests of its entries that are no copies, by id.
        moment: When it is looked at, seconds since 1970.
    """

    file: SeenFile
    known: KnownFile | None
    rows: Sequence[KnownEntry]
    here: Mapping[str, str]
    moment: float

    def lately(self, at: float) -> bool:
        """An editor may still hold what was there before."""
        return self.moment - at <= BUFFER_SECONDS

    def dropped(self, missing: Sequence[KnownEntry]) -> list[KnownEntry]:
        """Those of the missing entries that nobody deleted."""
        versions, since = appended_since(self.file.digest, self.rows)
        there = self.here.keys() - since
        held = (e.appended for e in self.rows if e.memory_id in there)
        newest = max(held, default=0)
        found = sorted(
            (e for e in missing if e.appended > newest and self.lately(e.appended_at)),
            key=lambda entry: entry.appended,
        )
        if not found or self.file.empty or EMPTY in versions:
            return []
        first = found[0]
        as_it_was = (
            (first.before in versions or self._is_as_it_was_known())
            and not first.returned
            and self.moment - first.appended_at <= SAVED_AS_IT_WAS_SECONDS
        )
        if not (as_it_was or len(missing) > len(found) or self._changed()):
            return []
        return [replace(entry, returned=as_it_was) for entry in found]

    def _is_as_it_was_known(self) -> bool:
        return self.known is not None and self.known.last == self.file.digest

    def undid(self, missing: Sequence[KnownEntry]) -> list[KnownEntry]:
        """The entries that the bot rewrote, and that are as they were before without anybody's
        having meant it."""
        back = [e for e in self.rows if self.is_back(e)]
        return [e for e in back if not self._is_meant(e, back, missing)]

    def is_back(self, entry: KnownEntry) -> bool:
        """The bot rewrote it, and it is as it was before."""
        if entry.prior is None or not self.lately(entry.rewritten_at):
            return False
        return self.here.get(entry.memory_id) == entry.prior_digest != entry.digest

    def _is_meant(
        self, entry: KnownEntry, back: Sequence[KnownEntry], missing: Sequence[KnownEntry]
    ) -> bool:
        if not says_otherwise(entry):
            return False
        _, since = appended_since(self.file.digest, self.rows)
        there = self.here.keys() - since
        if any(
            e.appended and e.appended_at > entry.rewritten_at
            for e in self.rows
            if e.memory_id in there
        ):
            return True
        return len(back) == 1 and not missing and not self._changed({entry.memory_id})

    def _changed(self, but: Collection[str] = ()) -> bool:
        """Something was changed besides what is missing."""
        file, known = self.file, self.known
        if known is None or known.plain != file.plain or file.unnamed:
            return True
        before = {e.memory_id: e.digest for e in self.rows if e.memory_id not in but}
        found = ((e.memory.memory_id, e.digest) for e in file.entries)
        return any(before.get(name) != digest for name, digest in found if name not in but)


def appended_since(digest: str, rows: Sequence[KnownEntry]) -> tuple[set[str], set[str]]:
    """The versions of a file from the one that a person saved last to that of ``digest``, and the
    ids of what the bot has appended in between. ``rows`` are the file's entries."""
    by_version: dict[str, list[KnownEntry]] = {}
    for entry in rows:
        if entry.appended:
            by_version.setdefault(entry.after, []).append(entry)
    versions = {digest}
    found: set[str] = set()
    while entries := by_version.pop(digest, []):
        found.update(entry.memory_id for entry in entries)
        digest = entries[0].before
        versions.add(digest)
    return versions, found


def says_otherwise(entry: KnownEntry) -> bool:
    """The bot has changed more of it than how strong it is."""
    if entry.prior is None:
        return False
    prior, ours = _merged(entry.prior), _merged(entry.memory)
    return any(ours[name] != prior[name] for name in ours.keys() - {"strength"})


def both_changed(before: KnownEntry, seen: SeenEntry) -> bool:
    """A person changed what the bot had rewritten, and did not know of that."""
    if before.prior is None or seen.digest in (before.digest, before.prior_digest):
        return False
    prior, ours, theirs = (_merged(m) for m in (before.prior, before.memory, seen.memory))
    changed = {name for name in ours if prior[name] != ours[name]}
    if all(theirs[name] == ours[name] for name in changed):
        return False
    return any(theirs[name] == prior[name] for name in changed) or bool(_WORDS & changed)


def _merged(memory: Memory) -> dict[str, object]:
    """What both a person and the bot change."""
    return {
        "judgment": memory.judgment,
        "reasoning": memory.reasoning,
        "tags": memory.tags,
        "kind": memory.kind,
        "active": memory.active,
        "strength": memory.strength,
    }
