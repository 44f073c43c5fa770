"""Wires what changes memories."""

from __future__ import annotations

from dataclasses import dataclass

from ..catalogue.recallable_memories import Follower, RecallableMemories
from ..models.settings import EngineSettings
from ..remember.closings import Closings
from ..remember.corrected_journals import CorrectedJournals
from ..remember.corrected_statements import CorrectedStatements
from ..remember.correction_follower import CorrectionFollower
from ..remember.draft_checks import DraftChecks
from ..remember.edit import MemoryEditor
from ..remember.intake import Intake
from ..remember.memory_handlers import MemoryHandlers
from ..remember.near_duplicates import NearDuplicates
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..service.engine_parts import EngineParts
from ..tasks.task_list import TaskList
from .recall import RecallParts


@dataclass(frozen=True, slots=True)
class RememberParts:
    """The doors to the vault, and what each memory passes there."""

    living: RecallableMemories
    corrected: CorrectedStatements
    checks: DraftChecks
    near: NearDuplicates
    handlers: MemoryHandlers
    intake: Intake
    editor: MemoryEditor
    tasks: TaskList
    follower: CorrectionFollower


def make_remember(
    parts: EngineParts,
    settings: EngineSettings,
    recalling: RecallParts,
    notices: NoticeBoard,
    clock: Clock,
) -> RememberParts:
    """Opens nothing."""
    vault, catalogue = parts.vault, recalling.catalogue
    followers: list[Follower] = [recalling.indexing, recalling.pending]
    living = RecallableMemories(catalogue, followers)
    checks = DraftChecks(settings.privacy_mode, parts.private_data)
    near = NearDuplicates(
        catalogue, recalling.indexing, recalling.words, seconds=settings.embed_draft_seconds
    )
    corrected = CorrectedStatements(parts.state, clock)
    closings = Closings(vault, catalogue, living, corrected)
    journals = CorrectedJournals(vault, catalogue, living, corrected, clock)
    editor = MemoryEditor(vault, catalogue, living, notices, checks, corrected, clock)
    return RememberParts(
        living,
        corrected,
        checks,
        near,
        MemoryHandlers(vault, catalogue, living, notices, checks, near, corrected, closings, clock),
        Intake(vault, catalogue, living, notices, parts.state, corrected),
        editor,
        TaskList(vault, catalogue, living, notices, checks, editor, clock),
        CorrectionFollower(corrected, recalling.unread, closings, journals),
    )
