"""What single lessons of finished turns do to the vault: a new memory, a correction, a merge.

Each is done inside the scope of its turns, and done again changes nothing: ids are told from
tickets and words, and what stands, or lies in the archive, is not written anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..catalogue.catalogue import Catalogue
from ..models.consent import is_for_speaker_alone
from ..models.conversation import Actor
from ..models.corrections import CorrectionKind
from ..models.data_models import (
    Memory,
    MemoryDraft,
    Provenance,
    Reinforced,
    Rejected,
    RejectReason,
    RememberOutcome,
    Replaced,
    Source,
    Stored,
    StoredMemory,
)
from ..models.key import Key
from ..models.passages import place_name
from ..models.scope import Scope, ScopeFilter
from ..models.turns import Contradiction, Merge, QueuedTurn
from ..recall.rules.successors import joining, replacing
from ..remember.corrected_statements import CorrectedStatements
from ..remember.memory_handlers import MemoryHandlers
from ..runtime.identifiers import Clock
from ..scopes.scope_book import ScopeBook
from ..text.derived_ids import derived_id
from ..text.normalising import clean
from .rules.guards import may_close, may_merge, may_replace
from .rules.speakers import NOBODY

_RULE_STRENGTH = 80


@dataclass(frozen=True, slots=True)
class ResultContext:
    """Where feedback applies: the turns, all of one scope and conversation, that scope, and what
    their reader may be shown."""

    turns: tuple[QueuedTurn, ...]
    scope: Scope
    sees: ScopeFilter

    @property
    def is_private(self) -> bool:
        """What is learned here is for its speaker alone."""
        return is_for_speaker_alone(self.scope, self.turns[0].conversation)

    @property
    def own(self) -> ScopeFilter:
        """What the reader may be shown and change: the same without what is only public."""
        return replace(self.sees, scopes=(self.scope,))

    def id_of(self, *parts: str) -> str:
        """The same for the same words of the same turns, however often they are applied."""
        tickets = (turn.ticket_id for turn in self.turns)
        return derived_id("m", "learned", *tickets, *parts)


class ResultApplier:
    """Nobody vouches for what is learned, and no answer says whose words it may touch."""

    def __init__(
        self,
        catalogue: Catalogue,
        handlers: MemoryHandlers,
        corrected: CorrectedStatements,
        book: ScopeBook,
        clock: Clock,
    ) -> None:
        self._catalogue = catalogue
        self._handlers = handlers
        self._corrected = corrected
        self._book = book
        self._clock = clock

    def lesson(self, turns: Sequence[QueuedTurn], scope: Scope) -> ResultContext:
        """What may be learned from turns of one conversation, and what their reader may be shown:
        what the bot learned from a private chat's person only where nobody else speaks."""
        persons = {turn.person for turn in turns}
        alone = persons.pop() if len(persons) == 1 else None
        shelves = () if alone is None else self._book.shelves_of(turns[0].conversation, alone)
        return ResultContext(tuple(turns), scope, ScopeFilter.reading_as(scope, shelves=shelves))

    def _known(self, memory_id: str, lesson: ResultContext) -> StoredMemory | None:
        """A memory of the lesson's own scope that its reader may be shown."""
        stored = self._catalogue.find(memory_id, lesson.own)
        return stored if stored is not None and stored.scope == lesson.scope else None

    async def learn(
        self,
        draft: MemoryDraft,
        lesson: ResultContext,
        memory_id: str = "",
        former: StoredMemory | None = None,
    ) -> RememberOutcome:
        """A new memory: nobody vouches for it, and it fades unless it proves useful. ``former``:
        the entry whose place it takes."""
        said_at = draft.said_at or lesson.turns[-1].observed_at
        actor = _speaker(draft.actor, lesson.turns)
        # What was only heard is as public as its chat, whatever was known there before.
        active = draft.active and not lesson.is_private
        draft = replace(
            draft, actor=actor, said_at=said_at, source=Source.REFLECTION, active=active
        )
        memory_id = memory_id or lesson.id_of(actor.person, actor.name, draft.judgment)
        standing = await self._handlers.stands(lesson.scope, memory_id)
        if isinstance(standing, StoredMemory):
            return Stored(standing)
        if standing:  # it was written, and something has taken its place since, or somebody it out
            return Rejected(RejectReason.REFUSED, detail="archived")
        vouched = self._said_already(draft, actor, lesson.scope)
        if vouched is not None:
            return Reinforced(vouched)
        return await self._handlers.write(
            draft,
            lesson.scope,
            conversation=lesson.turns[0].conversation,
            trusted=False,
            role=lesson.turns[0].persona,
            memory_id=memory_id,
            asked=False,
            former=former,
        )

    async def add_rule(self, rule: str, turn: QueuedTurn, lesson: ResultContext) -> RememberOutcome:
        """A standing instruction that an admin gave the bot in a turn: vouched for, for it is the
        admin's own sentence, word for word."""
        memory_id = lesson.id_of("rule", turn.ticket_id, rule)
        standing = await self._handlers.stands(lesson.scope, memory_id)
        if isinstance(standing, StoredMemory):
            return Stored(standing)
        if standing:
            return Rejected(RejectReason.REFUSED, detail="archived")
        draft = MemoryDraft(
            rule,
            strength=_RULE_STRENGTH,
            source=Source.REFLECTION,
            actor=Actor(turn.person, turn.who, admin=True),
            said_at=turn.observed_at,
        )
        return await self._handlers.write(
            draft,
            lesson.scope,
            conversation=turn.conversation,
            trusted=True,
            role=turn.persona,
            memory_id=memory_id,
            asked=False,
        )

    def _said_already(self, draft: MemoryDraft, actor: Actor, scope: Scope) -> StoredMemory | None:
        """The same words of the same speaker, where somebody vouches for them: nothing is new."""
        origin = Provenance(actor.name, actor.person, trusted=True)
        words = Memory("", clean(draft.judgment), self._clock(), provenance=origin)
        return self._catalogue.same_words(scope, words)

    async def correct(
        self, contradiction: Contradiction, lesson: ResultContext
    ) -> tuple[RememberOutcome, bool]:
        """The new words in the place of the old ones where the same person has taken them back,
        else beside them, which are settled then if they may be. Whether the old ones gave way, or
        are gone already."""
        draft, old_id = contradiction.draft, contradiction.memory_id
        memory_id = lesson.id_of("contradiction", old_id, draft.judgment)
        old = self._known(old_id, lesson)
        if old is None or not self._may_correct(old, contradiction, lesson):
            again = bool(await self._handlers.stands(lesson.scope, memory_id))
            closing = old is not None and self._may_close(old, contradiction, lesson)
            former = old if closing else None
            outcome = await self.learn(replace(draft, active=False), lesson, memory_id, former)
            if old is not None and closing and not isinstance(outcome, Rejected):
                again = await self._handlers.close(old, outcome.memory) or again
            return outcome, again
        draft = replace(
            draft,
            reasoning=replacing(draft.reasoning, old_id),
            tags=(*draft.tags, *old.memory.tags),
            strength=max(draft.strength, old.memory.strength),
            active=old.memory.active,
        )
        outcome = await self.learn(draft, lesson, memory_id, old)
        taken = await self._supersede([old], outcome)
        if taken:
            # Turns of before that are still to be read may say the old words again.
            at = draft.said_at or lesson.turns[-1].observed_at
            kind = CorrectionKind.TAKEN_BACK
            await self._corrected.note(kind, lesson.scope.name, old.memory, at=at)
        if taken and isinstance(outcome, Stored):
            outcome = Replaced(outcome.memory, old, outcome.redacted)
        return outcome, taken

    def _may_correct(
        self, old: StoredMemory, contradiction: Contradiction, lesson: ResultContext
    ) -> bool:
        turn = _turn_of(contradiction, lesson)
        if turn is None or not self._said(old.memory.provenance.person, turn, contradiction):
            return False
        return may_replace(old, contradiction.draft.judgment, turn)

    def _may_close(
        self, old: StoredMemory, contradiction: Contradiction, lesson: ResultContext
    ) -> bool:
        turn = _turn_of(contradiction, lesson)
        if turn is None or not self._said(turn.person, turn, contradiction):
            return False
        own = self._book.same_person(turn.person, old.memory.provenance.person)
        return may_close(old, contradiction.draft.judgment, turn, own=own)

    def _said(self, person: str, turn: QueuedTurn, contradiction: Contradiction) -> bool:
        """Whether this person spoke in the turn, and it is his word that contradicts."""
        actor = contradiction.draft.actor or NOBODY
        return all(self._book.same_person(one.person, person) for one in (turn, actor))

    async def merge(self, merge: Merge, lesson: ResultContext) -> RememberOutcome | None:
        """One entry in the place of several that say the same; None where they must not be one.
        All of them are the turns' own scope's, so public and private never meet."""
        scope, draft = lesson.scope, merge.draft
        memory_id = lesson.id_of("merge", *merge.memory_ids, draft.judgment)
        found = [self._known(one, lesson) for one in merge.memory_ids]
        olds = [old for old in found if old is not None]
        if len({place_name(old) for old in olds}) > 1:  # they are not read by the same people
            return None
        begun = await self._handlers.stands(scope, memory_id)
        if not begun and (
            len(olds) < len(found) or not may_merge([old.memory for old in olds], draft.judgment)
        ):
            return None
        if isinstance(begun, StoredMemory):  # a crash came between the new one and the old ones
            await self._supersede(olds, Stored(begun))
            return Stored(begun)
        if begun:
            return Rejected(RejectReason.REFUSED, detail="archived")
        newest = max(olds, key=lambda old: old.memory.created_at).memory
        origin = newest.provenance
        if lesson.is_private:  # the text is made of theirs; what is beside it may tell of the turns
            draft = replace(draft, reasoning="", tags=())
        draft = replace(
            draft,
            reasoning=joining(draft.reasoning, merge.memory_ids),
            tags=(*draft.tags, *(tag for old in olds for tag in old.memory.tags)),
            kind=newest.kind,
            strength=max(old.memory.strength for old in olds),
            active=any(old.memory.active for old in olds),
            # What an agent stored unasked is no more asked for in one piece.
            source=Source.AGENT if origin.source is Source.AGENT else Source.REFLECTION,
            actor=Actor(origin.person, origin.who),
            said_at=newest.created_at,
            heard=None,  # it is made of the old ones' words alone
        )
        outcome = await self._handlers.write(
            draft,
            scope,
            conversation=origin.conversation,
            trusted=False,
            role=newest.role,
            memory_id=memory_id,
            asked=False,
            former=olds[-1],
        )
        await self._supersede(olds, outcome)
        return outcome

    async def _supersede(self, olds: Sequence[StoredMemory], outcome: RememberOutcome) -> bool:
        """The new one stands; now the old ones into the archive. False where one stayed."""
        if isinstance(outcome, Rejected):
            return False
        successor, stayed = outcome.memory, 0
        for old in olds:
            if self._catalogue.get(Key(old.scope.name, old.memory.memory_id)) is None:
                continue  # the write has put it there itself
            same = successor.memory.memory_id == old.memory.memory_id
            if same or not await self._handlers.supersede(old, successor):
                stayed += 1
        return not stayed


def _turn_of(contradiction: Contradiction, lesson: ResultContext) -> QueuedTurn | None:
    named = [one for one in lesson.turns if one.ticket_id == contradiction.ticket_id]
    return named[0] if named else lesson.turns[0] if len(lesson.turns) == 1 else None


def _speaker(actor: Actor | None, turns: Sequence[QueuedTurn]) -> Actor:
    """Only who spoke in the turns can have said it."""
    if actor is None:
        return NOBODY
    spoke = (
        turn.person == actor.person and (bool(turn.person) or turn.who == actor.name)
        for turn in turns
    )
    return replace(actor, admin=False) if any(spoke) else NOBODY
