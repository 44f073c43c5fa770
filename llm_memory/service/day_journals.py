"""The journal of each day that is over: written once, from what was said on it or remembered."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final

from ..errors import ChatFailed
from ..log import logger
from ..models.consent import is_for_speaker_alone
from ..models.data_models import (
    Memory,
    MemoryDraft,
    MemoryKind,
    Provenance,
    Rejected,
    Source,
    StoredMemory,
    Topic,
)
from ..models.scope import Scope, ScopeFilter
from ..models.sleep import Digest, JournalDay
from ..models.turns import QueuedTurn
from ..policies.acquaintance import ONLY_FAMILIAR
from ..policies.day_journal import (
    LEAST_ENTRIES,
    NOTHING,
    SYSTEM,
    cleaned,
    digest_id,
    end_of,
    from_entries,
    is_journal,
    prompt_of,
    start_of,
)
from ..policies.instructions import is_quotation
from ..policies.relative_dates import resolve_dates
from ..policies.timeline import DIGEST_TAG, MADE_OF_ENTRIES
from ..ports import Key, Vault
from ..ports.chat import ChatModel
from ..ports.loop import TurnStore
from ..ports.sleep import SleepStore
from .acquaintances import Acquaintances
from .catalogue import Catalogue
from .corrected_statements import CorrectedStatements
from .draft_checks import DraftChecks
from .identifiers import Clock
from .living import LivingMemories
from .spending import Spending
from .to_its_end import to_its_end

NIGHTS: Final = 3
"""So many nights a model is asked for a day, then its entries tell it."""
MOST_FAILURES: Final = 3
"""With so many calls in vain nobody is asked any more in that run: each may have been paid."""
_FARTHEST_DAYS: Final = 31
"""So far back days without turns get a journal, however long the bot was off."""
_KEPT_DAYS: Final = 60
_STRENGTH: Final = 50


@dataclass(frozen=True, slots=True)
class Journals:
    """Days that were written, how many of them by a model, and days that wait."""

    written: int = 0
    by_model: int = 0
    waiting: int = 0

    def plus(self, other: Journals) -> Journals:
        """Both."""
        return Journals(
            self.written + other.written,
            self.by_model + other.by_model,
            self.waiting + other.waiting,
        )


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is nothing to tell: a model has read the day, or nobody said anything for all."""


_WRITTEN: Final = Journals(written=1)
_WAITS: Final = Journals(waiting=1)


class DayJournals:
    """A day's turns wait for its journal, and go with it: never longer than ``NIGHTS`` nights."""

    def __init__(
        self,
        store: SleepStore,
        turns: TurnStore,
        vault: Vault,
        catalogue: Catalogue,
        living: LivingMemories,
        corrected: CorrectedStatements,
        checks: DraftChecks,
        spending: Spending,
        acquaintances: Acquaintances,
        chat: ChatModel | None,
        clock: Clock,
        *,
        call_seconds: float,
    ) -> None:
        self._store = store
        self._turns = turns
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._corrected = corrected
        self._checks = checks
        self._spending = spending
        self._acquaintances = acquaintances
        self._chat = chat
        self._clock = clock
        self._call_seconds = call_seconds
        self._run_id = ""
        self._failures = 0

    async def run(self, run_id: str, scope: Scope, since: date | None) -> Journals:
        """Every day before today. ``since``: the day of the last run, None at the first: days from
        then on are written though nobody talked, if enough was remembered.

        Raises StateUnavailable, VaultWriteFailed.
        """
        if run_id != self._run_id:
            self._run_id, self._failures = run_id, 0
        await self._clear(scope)
        now = self._clock()
        today = now.date()
        before = start_of(today, now.tzinfo)
        known = await asyncio.to_thread(self._turns.days, before)
        talked = {day for name, day in known if name == scope.name}
        quiet = set() if since is None else set(_days(since, today)) - talked
        done = Journals()
        for day in sorted(talked | quiet):
            if day in talked:
                done = done.plus(await self._of_turns(scope, day, now))
            else:
                done = done.plus(await self._of_entries(scope, day, now))
        kept = today - timedelta(days=_KEPT_DAYS)
        await asyncio.to_thread(self._store.drop_journals, kept)
        return done

    async def _of_turns(self, scope: Scope, day: date, now: datetime) -> Journals:
        turns = await asyncio.to_thread(self._turns.of_day, scope.name, day)
        tickets = [turn.ticket_id for turn in turns]
        state = await asyncio.to_thread(self._store.journal_day, scope.name, day)
        if state.written or await self._is_known(scope, day):
            await asyncio.to_thread(self._turns.drop, tickets)
            await self._note(replace(state, written=True))
            return Journals()
        patient = state.nights < NIGHTS - 1
        if patient and self._asks and await self._is_unread(scope, day, now):
            await self._note(replace(state, nights=state.nights + 1))
            return _WAITS
        # The journal is read by all who read the scope: what only its speaker may read is left out.
        turns = [turn for turn in turns if not is_for_speaker_alone(scope, turn.conversation)]
        left = await asyncio.to_thread(self._corrected.cleared, turns)
        told = await self._told(scope, day, left, now) if self._asks else None
        if told is None and self._asks and patient:
            await self._note(replace(state, nights=state.nights + 1))
            return _WAITS
        digest = told if isinstance(told, Digest) else None
        if digest is None:
            digest = await self._listed(scope, day, now, least=1)
        if digest is not None:
            await to_its_end(self._write(scope, digest))
        await self._note(replace(state, written=True))
        await asyncio.to_thread(self._turns.drop, tickets)
        if digest is None:
            return Journals()
        return replace(_WRITTEN, by_model=int(digest.by_model))

    async def _of_entries(self, scope: Scope, day: date, now: datetime) -> Journals:
        state = await asyncio.to_thread(self._store.journal_day, scope.name, day)
        if state.written or await self._is_known(scope, day):
            return Journals()
        if self._asks and await self._is_unread(scope, day, now):
            return Journals()  # its turns come later, and its journal with them
        digest = await self._listed(scope, day, now, least=LEAST_ENTRIES)
        if digest is not None:
            await to_its_end(self._write(scope, digest))
        await self._note(replace(state, written=True))
        return Journals() if digest is None else _WRITTEN

    @property
    def _asks(self) -> bool:
        """Some model may be asked, if not now, then another night."""
        return self._chat is not None and self._spending.daily > 0

    async def _is_known(self, scope: Scope, day: date) -> bool:
        """It lives, whatever a person made of it, or was forgotten."""
        name = digest_id(scope.name, day)
        if self._catalogue.get(Key(scope.name, name)) is not None:
            return True
        return bool(await asyncio.to_thread(self._vault.forgotten, scope, [name]))

    async def _is_unread(self, scope: Scope, day: date, now: datetime) -> bool:
        """Turns of that day wait to be read: tomorrow more is known of it."""
        begin, end = start_of(day, now.tzinfo), end_of(day, now.tzinfo)
        lines = await asyncio.to_thread(self._turns.lines)
        return any(
            line.scope == scope.name and line.oldest <= end and line.newest >= begin
            for line in lines
        )

    async def _told(
        self, scope: Scope, day: date, turns: Sequence[QueuedTurn], now: datetime
    ) -> Digest | Nothing | None:
        """What a model makes of it; None where none can be asked now, or gives no answer."""
        if not turns:
            return Nothing()
        chat = self._chat
        if not any(turn.user_text or turn.reply_text for turn in turns):
            return Nothing()
        conversation = Counter(turn.conversation for turn in turns).most_common(1)[0][0]
        prompt = prompt_of(day, turns)
        if chat is None or not chat.is_there(conversation) or self._failures >= MOST_FAILURES:
            return None
        if not await self._spending.allows(prompt, SYSTEM):
            return None
        completion = None
        try:
            async with asyncio.timeout(self._call_seconds):
                completion = await chat.complete(prompt, system=SYSTEM, conversation=conversation)
        except (ChatFailed, TimeoutError) as error:
            logger.warning("写日记时模型没有答上来：{!r}", error)
        finally:
            await asyncio.shield(self._spending.count(prompt, SYSTEM, completion))
        reply = "" if completion is None else completion.text
        begin = start_of(day, now.tzinfo)
        left = await asyncio.to_thread(
            self._corrected.text_cleared, scope.name, reply, begin, turns
        )
        words = cleaned(day, left or NOTHING) if reply else None
        self._failures = self._failures + 1 if words is None else 0
        if not words:
            return None if words is None else Nothing()
        memory = await self._examined(scope, day, words, now)
        if memory is None:
            return None
        memory = _said_in(memory, {turn.conversation for turn in turns})
        speakers = frozenset(turn.person for turn in turns)
        return Digest(self._attributed(memory, scope, speakers, now), by_model=True)

    async def _listed(self, scope: Scope, day: date, now: datetime, *, least: int) -> Digest | None:
        """What was remembered that day, None where that is less than so many entries."""
        found = self._catalogue.of_days(day, day, ScopeFilter((scope,)), now.tzinfo)
        entries = [stored for stored in found if _is_told(stored)]
        words = from_entries(day, entries) if len(entries) >= least else None
        if words is None:
            return None
        memory = await self._examined(scope, day, words, now)
        if memory is None:
            return None
        memory = replace(memory, extra=(MADE_OF_ENTRIES,))
        memory = _said_in(memory, {stored.memory.provenance.conversation for stored in entries})
        speakers = frozenset(stored.memory.speaker for stored in entries)
        return Digest(self._attributed(memory, scope, speakers, now), by_model=False)

    def _attributed(
        self, memory: Memory, scope: Scope, speakers: frozenset[str], now: datetime
    ) -> Memory:
        """The digest with whose words it was made of, as far as that decides who is told of it
        unasked: one person's, or only those of people that the scope has known for days.

        ``speakers``: person ids, an empty one for nobody known.
        """
        if len(speakers) == 1:
            (person,) = speakers
            memory = replace(memory, provenance=replace(memory.provenance, person=person))
        if speakers <= self._acquaintances.of(scope, now):
            memory = replace(memory, extra=(*memory.extra, ONLY_FAMILIAR))
        return memory

    async def _examined(self, scope: Scope, day: date, words: str, now: datetime) -> Memory | None:
        """The digest as it may be stored: nobody vouches for it. None for what is refused."""
        tags = (DIGEST_TAG,)
        draft = MemoryDraft(words, tags=tags, kind=MemoryKind.EVENT, source=Source.REFLECTION)
        passed = await self._checks.examine(draft, scope)
        if isinstance(passed, Rejected):
            logger.debug("日记没有通过关卡：{}", passed.reason)
            return None
        said = passed.draft.judgment
        moment = end_of(day, now.tzinfo)
        quoted = is_quotation((said,), trusted=False)
        return Memory(
            memory_id=digest_id(scope.name, day),
            judgment=said if quoted else resolve_dates(said, moment),
            created_at=moment,
            tags=passed.draft.tags,
            kind=MemoryKind.EVENT,
            active=False,
            strength=_STRENGTH,
            provenance=Provenance(source=Source.REFLECTION),
            quoted=quoted,
        )

    async def _write(self, scope: Scope, digest: Digest) -> None:
        """Once. Raises VaultWriteFailed."""
        async with self._living.writing:
            key = Key(scope.name, digest.memory.memory_id)
            if self._catalogue.get(key) is None:
                entry = (Topic.JOURNAL, digest.memory)
                for stored in await asyncio.to_thread(self._vault.append_many, scope, [entry]):
                    self._living.take(stored)

    async def _clear(self, scope: Scope) -> None:
        """Take out of the journals that stand what was corrected since their day."""
        for stored in list(self._catalogue.visible(ScopeFilter((scope,)))):
            memory = stored.memory
            if not is_journal(stored):
                continue
            left = await asyncio.to_thread(
                self._corrected.text_cleared, scope.name, memory.judgment, memory.created_at
            )
            if left != memory.judgment:
                await to_its_end(self._rewrite(stored, left))

    async def _rewrite(self, stored: StoredMemory, words: str) -> None:
        async with self._living.writing:
            told = replace(stored.memory, judgment=words or NOTHING)
            with contextlib.suppress(KeyError):  # a person has just changed it
                self._living.take(await asyncio.to_thread(self._vault.replace, stored, told))

    async def _note(self, journal: JournalDay) -> None:
        await asyncio.to_thread(self._store.note_journal, journal)


def _said_in(memory: Memory, conversations: set[str]) -> Memory:
    """With the conversation of all its words, if that is one."""
    if len(conversations) != 1:
        return memory
    (conversation,) = conversations
    return replace(memory, provenance=replace(memory.provenance, conversation=conversation))


def _is_told(stored: StoredMemory) -> bool:
    return not is_journal(stored)


def _days(first: date, today: date) -> list[date]:
    first = max(first, today - timedelta(days=_FARTHEST_DAYS))
    return [first + timedelta(days=number) for number in range((today - first).days)]
