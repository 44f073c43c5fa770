"""What was purged: its words leave every file that the bot keeps besides the vault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.timeline import is_digest
from ..errors import IndexUnavailable
from ..index.lexical_service import LexicalService
from ..log import logger
from ..models.corrections import Correction, is_hand_edit
from ..models.data_models import Memory
from ..models.loop import BatchState
from ..reflection.turn_store import SqliteTurnStore
from ..remember.corrected_statements import CorrectedStatements
from ..storage.loop_file import SqliteLoopFile
from ..text.normalising import same_words
from ..vault.markdown_vault import MarkdownVault
from .nightly_backup import NightlyBackup
from .purged_backups import PurgedBackups


class PurgeRemnants:
    """A corrected statement is purged once no archive and no living entry holds its words: a person
    has purged it by command, or deleted it from ``archive/`` by hand. Words that somebody overwrote
    in a file are purged with their entry."""

    def __init__(
        self,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        corrected: CorrectedStatements,
        turns: SqliteTurnStore,
        loop_file: SqliteLoopFile,
        backup: NightlyBackup,
        words: LexicalService,
    ) -> None:
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._corrected = corrected
        self._turns = turns
        self._loop_file = loop_file
        self._backup = backup
        self._words = words

    async def run(self) -> int:
        """How many statements were purged. What fails is tried again the next night, for until all
        is done their words are known.

        Raises StateUnavailable, VaultWriteFailed, TransferFailed.
        """
        purged = await self._purged()
        if not purged:
            return 0
        await asyncio.to_thread(self._clear_queue, purged)
        await self._clear_archives(purged)
        await self._backup.change(PurgedBackups(purged, self._corrected).changed)
        async with self._living.writing:
            await asyncio.to_thread(self._clear_ledger, purged)
        await asyncio.to_thread(self._loop_file.checkpoint_wal)
        await asyncio.to_thread(self._vault.ledger.checkpoint_wal)
        try:
            await self._words.checkpoint_wal()
        except IndexUnavailable as error:  # a cache's trouble must not cost the night its backup
            logger.debug("词语索引的日志暂时清不掉，下一夜再试：{}", error)
            return 0
        await self._corrected.seal(purged)
        logger.info("彻底删除了 {} 条：排队的对话、日记、备份里也没有了", len(purged))
        return len(purged)

    async def _purged(self) -> list[Correction]:
        asked = self._corrected.all_in_words()
        if not asked:
            return []
        kept, folders = await asyncio.to_thread(self._archived)
        if kept is None:  # a file that cannot be read may hold any of them
            return []
        kept |= {
            (stored.memory.memory_id, same_words(stored.memory.judgment))
            for stored in self._catalogue.all()
        }
        # No archive ever held what a person overwrote in a file: it goes with its entry.
        there = {memory_id for memory_id, _ in kept}
        kept |= {_said(one) for one in asked if is_hand_edit(one) and one.memory_id in there}
        return [
            one
            for one in asked
            # A folder that is gone may be back tomorrow, with what was forgotten in it.
            if _said(one) not in kept and {one.scope, one.target or one.scope} <= folders
        ]

    def _archived(self) -> tuple[set[tuple[str, str]] | None, set[str]]:
        """Ids and words, None where a file cannot be read; and the scopes that have a folder."""
        found: set[tuple[str, str]] = set()
        scopes = self._vault.scopes()
        folders = {scope.name for scope in scopes}
        for scope in scopes:
            words = self._vault.archived_words(scope)
            if words is None:
                return None, folders
            found |= words
        return found, folders

    def _clear_queue(self, purged: Sequence[Correction]) -> None:
        for scope in sorted({name for one in purged for name in (one.scope, one.target) if name}):
            here = [one for one in purged if scope in (one.scope, one.target)]
            turns = self._turns.of_scope(scope)
            cut = [self._corrected.turn_without(turn, here) for turn in turns]
            self._turns.reword([now for was, now in zip(turns, cut, strict=True) if now != was])
            for batch in self._turns.batches():
                if batch.scope == scope and self._corrected.says(_plain(batch.reply), here):
                    # Without its reply it is read again, as its turns are now.
                    is_answered = batch.state is BatchState.ANSWERED
                    state = BatchState.OPEN if is_answered else batch.state
                    self._turns.put_batch(replace(batch, state=state, reply=""))

    def _clear_ledger(self, purged: Sequence[Correction]) -> None:
        """It keeps how an entry was before the bot rewrote it."""
        ids = {one.memory_id for one in purged}
        ids |= {s.memory.memory_id for s in self._catalogue.all() if is_digest(s.memory)}
        known = self._vault.ledger.entries_named(ids)
        priors = [entry for entry in known if entry.prior is not None]
        self._vault.ledger.record(
            entries=[
                replace(entry, prior=None, prior_digest="", rewritten_at=0.0) for entry in priors
            ]
        )

    async def _clear_archives(self, purged: Sequence[Correction]) -> None:
        """A journal that faded stands there with what it told of the day."""
        by_scope: dict[str, list[Correction]] = {}
        for one in purged:
            by_scope.setdefault(one.scope, []).append(one)
        for scope in await asyncio.to_thread(self._vault.scopes):
            if here := by_scope.get(scope.name):

                def tells(memory: Memory, here: Sequence[Correction] = here) -> bool:
                    return is_digest(memory) and self._corrected.says(memory.judgment, here)

                async with self._living.writing:
                    await asyncio.to_thread(self._vault.purge, scope, tells)


def _said(one: Correction) -> tuple[str, str]:
    return one.memory_id, same_words(one.words)


def _plain(reply: str) -> str:
    """A model may have written its words as escapes."""
    try:
        return json.dumps(json.loads(reply), ensure_ascii=False)
    except ValueError:
        return reply
