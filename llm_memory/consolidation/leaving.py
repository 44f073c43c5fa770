"""What leaves for the archive at night: what was recalled in vain, and what another memory says.

Passive memories fade by how they served:

| strength  | more often useless than useful: for each time more |
| --------- | --------------------------------------------------- |
| 80 to 100 | it stays                                             |
| 40 to 79  | 3 less                                               |
| 1 to 39   | 6 less                                               |

More often useful than useless: 2 more for each time, up to 100. As often the one as the other, or
never recalled: it stays as it is, for nobody is punished for not having been asked. At most five
times count at once, so one bad day fades nothing away. Below 10, having faded, a memory may leave.
What was stored as weak as that, and was never found useless, stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import batched, islice
from typing import Final

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.proposals import is_decided, proposal_of
from ..catalogue.rules.timeline import is_digest
from ..errors import VaultWriteFailed
from ..index.rules.deduplication import ANY, MergeThresholds, Reinforce, decide
from ..models.conversation import Actor
from ..models.data_models import (
    MAX_STRENGTH,
    MIN_STRENGTH,
    Memory,
    Refused,
    StoredMemory,
    Topic,
    is_absent,
)
from ..models.passages import place_name
from ..models.scope import Scope
from ..models.vault_layout import topic_of
from ..remember.edit import REPLACED, MemoryEditor
from ..remember.near_duplicates import NearDuplicates
from ..remember.rules.gate import MAX_TAGS
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import shielded
from ..storage.loop_file import Evidence, SqliteLoopFacts
from ..vault.markdown_vault import MarkdownVault
from .report import SleepReport

_WEAK: Final = 10
_LOSSES: Final = ((80, 0), (40, 3), (0, 6))
"""From which strength on how much of it is lost each time; see above."""
_MOST_TIMES: Final = 5
AT_ONCE: Final = 10
"""The most memories whose strength a kill may leave as it was."""
MOST_COMPARED: Final = 300
"""Memories of a scope that one run compares; the others wait for the next night."""
_REST_SECONDS: Final = 0.02
"""Pause between two of them: an embedder may use the bot's own processor."""
FADED: Final = ("夜间整理：想起了总没用", "Nightly tidy-up: recalled, never of use")
"""Who has forgotten it, as the archive says, in Chinese and in English."""


def may_leave(stored: StoredMemory) -> bool:
    """Returns False for what is kept on purpose: active memories, decided proposals, journals of
    earlier versions, and tasks, which are done or open instead of strong or weak."""
    memory, is_task = stored.memory, topic_of(stored.path) is Topic.TASKS
    return not (memory.active or is_task or is_digest(memory) or is_decided(memory))


def weigh(strength: int, times: int) -> int:
    """Returns the strength after a memory was so many times more often useful than useless."""
    for _ in range(min(abs(times), _MOST_TIMES)):
        loss = next(loss for least, loss in _LOSSES if strength >= least)
        strength = max(strength + (2 if times > 0 else -loss), MIN_STRENGTH)
    return min(strength, MAX_STRENGTH)


async def rewritten(
    editor: MemoryEditor, stored: StoredMemory, made: Callable[[Memory], Memory]
) -> StoredMemory | None:
    """Apply ``made`` to an entry that says what it said. Returns the entry as it stands, None if a
    person has deleted or reworded it meanwhile. Raises VaultWriteFailed."""
    words = stored.memory.judgment
    now = await editor.annotate(stored, lambda one: made(one) if one.judgment == words else one)
    if isinstance(now, Refused) and not is_absent(now):
        raise VaultWriteFailed(now.detail)
    return now if isinstance(now, StoredMemory) and now.memory.judgment == words else None


@dataclass(eq=False)
class Leaving:
    """Only passive memories leave, at most a quarter of a scope in a run."""

    _loop_book: SqliteLoopFacts
    _vault: MarkdownVault
    _catalogue: Catalogue
    _living: RecallableMemories
    _editor: MemoryEditor
    _near: NearDuplicates
    _clock: Clock
    _english: bool
    _compared: set[int] = field(default_factory=set, init=False)
    """Hashes of what was compared while the bot runs, and says what no other one says."""

    async def run(self, scope: Scope) -> SleepReport:
        """Do a scope. Raises StateUnavailable, VaultWriteFailed."""
        room = self._catalogue.counts().get(scope.name, 0) // 4
        faded = await self._fade(scope, room)
        return SleepReport(archived=faded, merged=await self._merge(scope, room - faded))

    async def _fade(self, scope: Scope, room: int) -> int:
        """Weigh the memories that were counted. The weakest leave, ``room`` at most, and are
        counted; the counts of the others that should leave stay, so that the next night weighs them
        again."""
        counted = await asyncio.to_thread(self._loop_book.evidence, scope.name)
        weakest = sorted(counted, key=self._left)
        leaving = sum(self._left(one) < _WEAK for one in counted)
        due = weakest[: min(room, leaving)] + weakest[leaving:]
        return sum([await shielded(self._weigh(some)) for some in batched(due, AT_ONCE)])

    async def _merge(self, scope: Scope, room: int) -> int:
        """Compare texts that were written while there was no index, by hand, or imported: what came
        last first. ``room`` memories leave at most, and are counted; the rest is compared again
        another night, as where no index can compare."""
        merged = 0
        for stored in await asyncio.to_thread(self._new, self._catalogue.of_scope(scope)):
            if self._catalogue.get(entry_key(stored)) != stored:
                continue  # merged tonight
            near = await self._near.neighbours(stored)
            if near is None:
                break
            found = await asyncio.to_thread(weaker_of, stored, near, self._near.thresholds or ANY)
            if found is None:
                self._compared.add(hash(stored))
            elif merged < room:
                merged += await shielded(self._put_into(*found))
            await asyncio.sleep(_REST_SECONDS)
        return merged

    def _new(self, living: Sequence[StoredMemory]) -> list[StoredMemory]:
        known, last_first = self._compared, cooperative(reversed(living))
        return list(islice((one for one in last_first if hash(one) not in known), MOST_COMPARED))

    def _passive(self, one: Evidence) -> StoredMemory | None:
        stored = self._catalogue.get(one.key)
        return stored if stored and may_leave(stored) else None

    def _left(self, one: Evidence) -> int:
        """Returns the strength that is left of what was found useless, else the greatest."""
        stored, times = self._passive(one), one.useful - one.useless
        return weigh(stored.memory.strength, times) if stored and times < 0 else MAX_STRENGTH

    async def _weigh(self, some: Sequence[Evidence]) -> int:
        """A kill weighs nothing twice: counts go before a strength is changed. They go after the
        move of what leaves: a kill may have left an entry in both places."""
        weak = [self._passive(one) for one in some if self._left(one) < _WEAK]
        gone = await self._archive([one for one in weak if one], FADED)
        await asyncio.to_thread(self._loop_book.take_off, some)
        for one in some:

            def made(memory: Memory, times: int = one.useful - one.useless) -> Memory:
                weighed = replace(memory, strength=weigh(memory.strength, times))
                return memory if memory.active else weighed

            if stored := self._passive(one):
                await rewritten(self._editor, stored, made)
        return gone

    async def _put_into(self, loser: StoredMemory, into: StoredMemory) -> int:
        """Archive a memory that ``into`` says as well, which takes over its strength, tags and,
        where it has none, questions. Returns 0 if both stay: one was changed meanwhile."""

        def made(memory: Memory) -> Memory:
            other, tags = loser.memory, dict.fromkeys((*memory.tags, *loser.memory.tags))
            strength, asks = max(memory.strength, other.strength), memory.asks or other.asks
            took = replace(memory, strength=strength, tags=tuple(tags)[:MAX_TAGS], asks=asks)
            return memory if memory.active else took

        kept = await rewritten(self._editor, into, made)
        return await self._archive([loser], REPLACED, into) if kept else 0

    async def _archive(
        self, found: Sequence[StoredMemory], why: tuple[str, str], *into: StoredMemory
    ) -> int:
        """Archive what stands as it is known, and return how many did. Raises VaultWriteFailed."""
        name = why[self._english].format(*(one.memory.memory_id for one in into))
        by, at = Actor("", name), self._clock().replace(microsecond=0)
        async with self._living.writing:
            gone = await asyncio.to_thread(self._vault.archive_many, found, by=by, at=at)
            for one in gone:
                self._living.drop(one)
        return len(gone)


def weaker_of(
    stored: StoredMemory,
    near: Sequence[tuple[StoredMemory, float]],
    thresholds: MergeThresholds,
) -> tuple[StoredMemory, StoredMemory] | None:
    """Returns what may leave and the nearest that says it as well, None for nothing. Of each two
    the newer one leaves if the older one says it all, else the older one if the newer one does."""
    alike = MergeThresholds(thresholds.replace, thresholds.replace)
    for other, similarity in sorted(near, key=lambda pair: -pair[1]):
        # Whatever an index answers: what one person may read never becomes what all may, and the
        # words of only one of them may belong to a decision.
        apart = other.scope != stored.scope or place_name(other) != place_name(stored)
        if apart or proposal_of(other.memory) != proposal_of(stored.memory):
            continue
        older, newer = sorted((stored, other), key=lambda one: one.memory.created_at)
        for loser, into, limits in ((newer, older, thresholds), (older, newer, alike)):
            says = decide(loser.memory, [(into, similarity)], limits)
            if may_leave(loser) and isinstance(says, Reinforce):
                return loser, into
    return None
