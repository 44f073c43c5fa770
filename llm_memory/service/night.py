"""The night's parts, introduced to each other."""

from __future__ import annotations

from collections.abc import Callable

from ..models.scope import Scope
from ..models.sleep import Postponed
from ..ports import Vault
from ..ports.loop import LoopBook, LoopFile, TurnStore
from ..ports.sleep import ScopePages, SleepStore
from .acquaintances import Acquaintances
from .catalogue import Catalogue
from .closings import Closings
from .consolidation_service import ConsolidationService, NightParts
from .corrected_journals import CorrectedJournals
from .corrected_statements import CorrectedStatements
from .day_journals import DayJournals
from .departures import Departures
from .draft_checks import DraftChecks
from .fading import Fading
from .identifiers import Clock
from .living import LivingMemories
from .near_duplicates import NearDuplicates
from .night_merging import NightMerging
from .nightly_backup import NightlyBackup
from .notice_board import NoticeBoard
from .overviews import Overviews
from .purging import Purging


def make_night(
    *,
    store: SleepStore,
    book: LoopBook,
    turns: TurnStore,
    loop_file: LoopFile,
    pages: ScopePages,
    backup: NightlyBackup,
    vault: Vault,
    catalogue: Catalogue,
    living: LivingMemories,
    corrected: CorrectedStatements,
    checks: DraftChecks,
    near: NearDuplicates,
    notices: NoticeBoard,
    acquaintances: Acquaintances,
    clock: Clock,
    learns: bool,
    busy: Callable[[], Postponed],
    may_rotate: Callable[[], bool],
    primer: Callable[[Scope], str],
) -> ConsolidationService:
    """``primer`` fills PRIMER.md of a scope; ``may_rotate`` is False while files are missing that
    an older backup may still have; ``learns`` while memories may be changed by themselves."""
    closings = Closings(vault, catalogue, living, corrected)
    departures = Departures(store, vault, catalogue, living, closings, clock)
    parts = NightParts(
        departures,
        Fading(store, book, vault, catalogue, living, departures),
        NightMerging(store, catalogue, near, departures),
        DayJournals(
            store,
            turns,
            vault,
            catalogue,
            living,
            CorrectedJournals(vault, catalogue, living, corrected),
            checks,
            acquaintances,
            clock,
        ),
        Overviews(pages, catalogue, corrected, notices, primer),
        backup,
        Purging(vault, catalogue, living, corrected, turns, loop_file, backup),
    )
    return ConsolidationService(
        store,
        book,
        vault,
        pages,
        notices,
        clock,
        parts,
        busy=busy,
        learns=lambda: learns and may_rotate(),
    )
