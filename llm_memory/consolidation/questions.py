"""Asks a model for questions to memories that have none: those written by hand, imported, adopted,
logged by agents, or reworded.

The instructions, ``questions`` of the catalogue, say that the memories are data: a JSON line each,
between marks that no text can forge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.rules.closing import is_over
from ..catalogue.rules.tasks import is_done
from ..catalogue.rules.timeline import is_digest
from ..errors import ChatFailed
from ..models.data_models import MemoryDraft, Refused, StoredMemory
from ..models.passages import Key, place_name
from ..models.scope import Scope
from ..reflection.model import Completion, Model
from ..reflection.rules.prompt import Prompt, as_data
from ..reflection.rules.reply import Unreadable, as_text, as_texts, find_answer, usable
from ..remember.edit import DraftChecks, MemoryEditor
from ..remember.exclusions import Exclusions
from ..runtime.cooperative import cooperative
from ..runtime.lifecycle import shielded
from ..text.normalising import preview
from ..texts import Spoken, Texts
from .leaving import rewritten
from .report import SleepReport

AT_ONCE: Final = 20
"""Memories of a scope in one night: one that was just imported leaves tokens for others."""
_CHARS: Final = 240
_NAMES: Final = ("ask", "question")

type Questions = Mapping[int, tuple[str, ...]]
"""By the index of their memory in the batch."""


@dataclass(eq=False)
class QuestionStep:
    """Puts memories of one scope with the same readers into a prompt. It asks about a memory once
    while the bot runs: one for which the model has no question is not paid for each night. This is
    not written: a mark in the file would mean nothing to the person who reads it."""

    _catalogue: Catalogue
    _editor: MemoryEditor
    _checks: DraftChecks
    _model: Model
    _uses: Callable[[StoredMemory], int]
    _exclusions: Exclusions
    _english: bool
    _asked: dict[Key, str] = field(default_factory=dict, init=False)
    """The words of each memory that was asked about."""

    async def run(self, scope: Scope) -> SleepReport:
        """Ask once. A model that fails, or is none, costs nothing else. Raises StateUnavailable,
        VaultWriteFailed."""
        batch = await asyncio.to_thread(self._next, self._catalogue.of_scope(scope))
        found = await self._ask(batch) if batch else None
        if found is None:
            return SleepReport()
        self._asked |= {entry_key(stored): stored.memory.judgment for stored in batch}
        given = [await shielded(self._give(batch[n], asks)) for n, asks in found.items()]
        return SleepReport(asked=sum(given))

    def _next(self, living: Sequence[StoredMemory]) -> list[StoredMemory]:
        """Returns the memories to ask about next: the most used first, then the newest, all with
        the same readers as the first."""
        waiting = filter(self._waits, cooperative(living))
        ranked = sorted(waiting, key=lambda s: (self._uses(s), s.memory.created_at), reverse=True)
        return [s for s in ranked if place_name(s) == place_name(ranked[0])][:AT_ONCE]

    def _waits(self, stored: StoredMemory) -> bool:
        """True for a memory without questions that may be asked for some: no quotation, and nothing
        that repeats others, is settled or done, or is excluded in its scope."""
        memory = stored.memory
        if memory.asks or memory.quoted or is_digest(memory) or is_over(memory) or is_done(stored):
            return False
        said, person = memory.judgment, memory.provenance.person
        excluded = self._exclusions.forbids(stored.scope.name, said, person)
        return not excluded and self._asked.get(entry_key(stored)) != said

    async def _ask(self, batch: Sequence[StoredMemory]) -> Questions | None:
        """Returns the answer of the model of a conversation in which one of them was said; None if
        it did not answer, and these wait for another night."""
        spoken: Spoken = "en" if self._english else "zh"
        prompt = await asyncio.to_thread(question_prompt, batch, spoken)
        said_in = (stored.memory.provenance.conversation for stored in batch)
        where, schema = next(filter(None, said_in), ""), partial(read_questions, batch=batch)
        try:
            return await self._model.ask(prompt, schema, conversation=where, purpose="night")
        except ChatFailed as error:
            return {} if error.code == "unreadable" else None

    async def _give(self, stored: StoredMemory, asks: tuple[str, ...]) -> bool:
        """Write the questions that pass the checks of drafts. A person's edit meanwhile wins."""
        passed = await asyncio.to_thread(
            self._checks.examine, MemoryDraft(stored.memory.judgment, asks=asks), stored.scope
        )
        if isinstance(passed, Refused) or not passed.asks:
            return False
        asks = passed.asks
        written = await rewritten(
            self._editor, stored, lambda memory: replace(memory, asks=memory.asks or asks)
        )
        return written is not None and written.memory.asks == asks


def question_prompt(batch: Sequence[StoredMemory], spoken: Spoken) -> Prompt:
    """Returns the prompt for memories of one place."""
    lines = [
        as_data({"n": n, "who": one.memory.who, "text": preview(one.memory.judgment, _CHARS)})
        for n, one in enumerate(batch, start=1)
    ]
    user = "\n".join(("<memories>", *lines, "</memories>"))
    return Prompt(Texts.of(spoken).say("questions.instructions"), user, spoken)


def read_questions(given: Completion, batch: Sequence[StoredMemory]) -> Questions | Unreadable:
    """Returns usable questions. Numbers that were not asked about are ignored."""
    answer = find_answer(given.text, _NAMES, _without_frame)
    if isinstance(answer, Unreadable):
        return answer
    named = dict(_by_number(next((answer[name] for name in _NAMES if name in answer), {})))
    some = (usable(named.get(str(n), ()), s.memory.judgment) for n, s in enumerate(batch, start=1))
    found = {index: asks for index, asks in enumerate(some) if asks}
    return found if found or not named else Unreadable("wrong_type: asks")


def _without_frame(value: object) -> dict[str, object] | None:
    """Returns the answer that questions by number stand for, without the object around them."""
    return {"ask": value} if any(_by_number(value)) else None


def _by_number(value: object) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields questions with their memory's number, from an object of lists, or from a list of
    objects ``{"n": 1, "asks": [...]}``."""
    if isinstance(value, dict):
        yield from ((key, as_texts(asks)) for key, asks in value.items() if key.isdecimal())
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            yield as_text(one.get("n")), as_texts(one.get("ask") or one.get("question"))
