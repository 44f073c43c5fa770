"""Wires the nightly run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..catalogue.acquaintances import Acquaintances
from ..catalogue.recallable_memories import RecallableMemories
from ..consolidation.archive_step import ArchiveStep
from ..consolidation.consolidation_service import ConsolidationParts, ConsolidationService
from ..consolidation.day_journals import DayJournals
from ..consolidation.decay_step import DecayStep
from ..consolidation.merging import MergeStep
from ..consolidation.models import Postponed
from ..consolidation.nightly_backup import NightlyBackup
from ..consolidation.overviews import Overviews
from ..consolidation.purge_remnants import PurgeParts, PurgeRemnants
from ..consolidation.question_step import QuestionStep
from ..reflection.model_calls import ModelCalls
from ..remember.closings import Closings
from ..remember.corrected_journals import CorrectedJournals
from ..remember.corrected_statements import CorrectedStatements
from ..remember.draft_checks import DraftChecks
from ..remember.near_duplicates import NearDuplicates
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..service.engine_parts import EngineParts
from .recall import RecallParts


def make_consolidation(
    parts: EngineParts,
    *,
    overviews: Overviews,
    backup: NightlyBackup,
    recall: RecallParts,
    living: RecallableMemories,
    corrected: CorrectedStatements,
    checks: DraftChecks,
    near: NearDuplicates,
    model_calls: ModelCalls,
    souls: Callable[[], Awaitable[None]],
    notices: NoticeBoard,
    acquaintances: Acquaintances,
    clock: Clock,
    learns: bool,
    busy: Callable[[], Postponed],
    may_rotate: Callable[[], bool],
) -> ConsolidationService:
    """``may_rotate`` is False while files are missing that an older backup may still have;
    ``learns`` while memories may be changed by themselves."""
    catalogue = recall.catalogue
    store, book, turns, vault = parts.sleep_store, parts.loop_book, parts.turns, parts.vault
    closings = Closings(vault, catalogue, living, corrected)
    archive = ArchiveStep(vault, catalogue, living, closings, clock)
    steps = ConsolidationParts(
        DecayStep(book, vault, catalogue, living, archive),
        MergeStep(store, catalogue, near, archive),
        DayJournals(
            store,
            turns,
            vault,
            catalogue,
            living,
            CorrectedJournals(vault, catalogue, living, corrected, clock),
            checks,
            acquaintances,
            clock,
        ),
        overviews,
        QuestionStep(vault, catalogue, living, checks, model_calls, recall.uses.of),
        souls,
        backup,
        PurgeRemnants(
            PurgeParts(
                parts.files,
                parts.state,
                turns,
                parts.loop_file,
                store,
                recall.words,
                recall.indexing,
                {
                    "state/migration.sqlite": parts.migrations.forget,
                    **({"state/adoption/": parts.staging.forget} if parts.staging else {}),
                },
            ),
            vault,
            catalogue,
            recall.notes,
            living,
            corrected,
            backup,
            notices,
        ),
    )
    return ConsolidationService(
        store,
        book,
        vault,
        notices,
        clock,
        steps,
        busy=busy,
        learns=lambda: learns and may_rotate(),
    )
