"""Asks a model for questions to memories that have none: those written by hand, imported, adopted,
logged by agents, or reworded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.recallable_memories import RecallableMemories
from ..errors import ChatFailed
from ..log import logger
from ..models.data_models import MemoryDraft, Refused, StoredMemory
from ..models.passages import Key
from ..models.scope import Scope
from ..reflection.chat_port import Completion
from ..reflection.model import Model, Rests
from ..reflection.rules.forgiving_json import Unreadable
from ..remember.edit import DraftChecks
from ..remember.exclusions import Exclusions
from ..runtime.shielded import shielded
from ..text.normalising import content_hash
from ..vault.markdown_vault import MarkdownVault
from .report import SleepReport
from .rules.questions import Questions, next_batch, question_prompt, read_questions, wants_questions

_CALLS: Final = 2
"""Calls for a scope in one night: a scope that was just imported leaves tokens for others."""


class QuestionStep:
    """Puts memories of one scope with the same readers into a prompt. It asks about a memory once
    while the bot runs: one for which the model has no question is not paid for each night. This is
    not written: a mark in the file would mean nothing to the person who reads it."""

    def __init__(
        self,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        checks: DraftChecks,
        model: Model,
        uses: Callable[[StoredMemory], int],
        exclusions: Exclusions,
    ) -> None:
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._checks = checks
        self._model = model
        self._uses = uses
        self._exclusions = exclusions
        self._asked: set[tuple[Key, str]] = set()

    async def run(self, scope: Scope) -> SleepReport:
        """Ask a few times. A model that fails, or is none, costs nothing else.

        Raises StateUnavailable, VaultWriteFailed.
        """
        count = 0
        for _ in range(_CALLS):
            batch = await asyncio.to_thread(self._next, self._catalogue.of_scope(scope))
            if not batch:
                break
            found = await self._ask(batch)
            if found is None:
                break
            self._asked.update(map(_mark, batch))
            for index, asks in found.items():
                count += await shielded(self._give(batch[index], asks))
        return SleepReport(asked=count)

    def _next(self, living: list[StoredMemory]) -> list[StoredMemory]:
        waiting = [s for s in living if wants_questions(s) and _mark(s) not in self._asked]
        return next_batch([s for s in waiting if not self._is_excluded(s)], self._uses)

    def _is_excluded(self, stored: StoredMemory) -> bool:
        person = stored.memory.provenance.person
        return self._exclusions.forbids(stored.scope.name, stored.memory.judgment, person)

    async def _ask(self, batch: list[StoredMemory]) -> Questions | None:
        """Returns the answer of the model of a conversation in which one of them was said; None if
        it is not to be asked any more."""

        def schema(completion: Completion) -> Questions | Unreadable:
            return read_questions(completion.text, batch)

        prompt = await asyncio.to_thread(question_prompt, batch)
        said_in = (stored.memory.provenance.conversation for stored in batch)
        where = next(filter(None, said_in), "")
        try:
            return await self._model.ask(prompt, schema, conversation=where, purpose="night")
        except Rests:
            return None
        except ChatFailed as error:
            logger.info("model_silent", error=error)
            return {} if error.code == "unreadable" else None

    async def _give(self, stored: StoredMemory, asks: tuple[str, ...]) -> bool:
        """Write the questions that pass the checks of drafts. A person's edit meanwhile wins."""
        draft = MemoryDraft(stored.memory.judgment, asks=asks)
        passed = await asyncio.to_thread(self._checks.examine, draft, stored.scope)
        if isinstance(passed, Refused) or not passed.asks:
            return False
        asked = replace(stored.memory, asks=passed.asks)
        async with self._living.writing:
            if self._catalogue.get(entry_key(stored)) != stored:
                return False
            try:
                written = await asyncio.to_thread(self._vault.replace, stored, asked)
            except KeyError:
                return False
            self._living.take(written)
        return True


def _mark(stored: StoredMemory) -> tuple[Key, str]:
    return entry_key(stored), content_hash(stored.memory.judgment)
