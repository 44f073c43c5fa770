"""Detects a save from a stale editor buffer, which lacks what the bot wrote meanwhile.

The bot appends to a file while a person has it open in an editor. The person's save then descends
from an older version: it lacks the entries that the bot appended since, although the person did not
delete them. The rules that distinguish them from deleted ones: A save that holds an entry of the
bot's descends from a version at least as new as that entry, so all older missing entries were
deleted. Missing entries newer than all that it holds: if the same save changed something else, they
count as dropped (they are restored; at worst a person deletes one twice). If it changed nothing
else, the person deleted them; unless the file is, byte by byte, an older version of the same hour.

An entry that the bot rewrote and the save has in its former version is judged alike. If the save
holds something that the bot appended after the rewrite, or changed nothing else, the person
reverted it. A rewrite that only made an entry stronger is never taken for reverted by hand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...models.data_models import Memory
from ..models import BUFFER_SECONDS, EMPTY, KnownEntry, KnownFile, SeenEntry, SeenFile

SAVED_AS_IT_WAS_SECONDS: Final = 3600.0
"""For so long after an append, a file equal to its state before counts as a stale save."""
_WORDS: Final = frozenset({"judgment", "reasoning"})


@dataclass(frozen=True, slots=True)
class Save:
    """A file that a person's editor saved.

    Attributes:
        file: Its present state.
        known: Its known state.
        rows: Its known entries.
        here: The digests of its entries without copies, by id.
        moment: The time of the comparison, seconds since 1970.
    """

    file: SeenFile
    known: KnownFile | None
    rows: Sequence[KnownEntry]
    here: Mapping[str, str]
    moment: float

    def lately(self, at: float) -> bool:
        """True while an editor may still hold a version from before ``at``."""
        return self.moment - at <= BUFFER_SECONDS

    def dropped(self, missing: Sequence[KnownEntry]) -> list[KnownEntry]:
        """Returns the missing entries that a stale save dropped."""
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
        """Returns the entries whose rewrite by the bot a stale save undid."""
        back = [e for e in self.rows if self.is_back(e)]
        return [e for e in back if not self._is_meant(e, back, missing)]

    def is_back(self, entry: KnownEntry) -> bool:
        """True for an entry that the bot rewrote and that has its former text again."""
        if entry.prior is None or not self.lately(entry.rewritten_at):
            return False
        return self.here.get(entry.memory_id) == entry.prior_digest != entry.digest

    def _is_meant(
        self, entry: KnownEntry, back: Sequence[KnownEntry], missing: Sequence[KnownEntry]
    ) -> bool:
        if not (changed_content(entry) or _changed_questions(entry)):
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
        """True if something changed besides the missing entries."""
        file, known = self.file, self.known
        if known is None or known.plain != file.plain or file.unnamed:
            return True
        before = {e.memory_id: e.digest for e in self.rows if e.memory_id not in but}
        found = ((e.memory.memory_id, e.digest) for e in file.entries)
        return any(before.get(name) != digest for name, digest in found if name not in but)


def appended_since(digest: str, rows: Sequence[KnownEntry]) -> tuple[set[str], set[str]]:
    """Returns the versions of a file from the one that a person saved last to that of ``digest``,
    and the ids that the bot appended in between. ``rows`` are the file's entries."""
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


def changed_content(entry: KnownEntry) -> bool:
    """True if the bot changed more of the entry than its strength and questions."""
    if entry.prior is None:
        return False
    prior, ours = _merged(entry.prior), _merged(entry.memory)
    return any(ours[name] != prior[name] for name in ours.keys() - {"strength"})


def _changed_questions(entry: KnownEntry) -> bool:
    """True if the bot wrote or dropped questions. A person may take that back, but there are no
    words in it to archive, or to compare with theirs."""
    return entry.prior is not None and entry.prior.asks != entry.memory.asks


def both_changed(before: KnownEntry, seen: SeenEntry) -> bool:
    """True if a person changed an entry without knowing of the bot's rewrite."""
    if before.prior is None or seen.digest in (before.digest, before.prior_digest):
        return False
    prior, ours, theirs = (_merged(m) for m in (before.prior, before.memory, seen.memory))
    changed = {name for name in ours if prior[name] != ours[name]}
    if all(theirs[name] == ours[name] for name in changed):
        return False
    return any(theirs[name] == prior[name] for name in changed) or bool(_WORDS & changed)


def _merged(memory: Memory) -> dict[str, object]:
    """Returns the fields that both a person and the bot change."""
    return {
        "judgment": memory.judgment,
        "reasoning": memory.reasoning,
        "tags": memory.tags,
        "kind": memory.kind,
        "active": memory.active,
        "strength": memory.strength,
    }
