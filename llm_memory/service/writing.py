"""What changes memories, introduced to each other."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.settings import EngineSettings
from .closings import Closings
from .corrected_journals import CorrectedJournals
from .corrected_statements import CorrectedStatements
from .correction_follower import CorrectionFollower
from .draft_checks import DraftChecks
from .engine_parts import EngineParts
from .identifiers import Clock
from .intake import Intake
from .living import Follower, LivingMemories
from .memory_editor import MemoryEditor
from .memory_handlers import MemoryHandlers
from .near_duplicates import NearDuplicates
from .notice_board import NoticeBoard
from .recalling import Recalling
from .tasks import TaskList


@dataclass(frozen=True, slots=True)
class Writing:
    """The doors to the vault, and what each memory passes there."""

    living: LivingMemories
    corrected: CorrectedStatements
    checks: DraftChecks
    near: NearDuplicates
    handlers: MemoryHandlers
    intake: Intake
    editor: MemoryEditor
    tasks: TaskList
    follower: CorrectionFollower


def make_writing(
    parts: EngineParts,
    settings: EngineSettings,
    recalling: Recalling,
    notices: NoticeBoard,
    clock: Clock,
) -> Writing:
    """Opens nothing."""
    vault, catalogue = parts.vault, recalling.catalogue
    followers: list[Follower] = [recalling.indexing, recalling.pending, recalling.long_lived]
    living = LivingMemories(catalogue, followers, recalling.long_lived.grow)
    checks = DraftChecks(settings.privacy_mode, parts.private_data)
    near = NearDuplicates(
        catalogue, recalling.indexing, recalling.words, seconds=settings.embed_draft_seconds
    )
    corrected = CorrectedStatements(parts.state, clock)
    closings = Closings(vault, catalogue, living, corrected)
    journals = CorrectedJournals(vault, catalogue, living, corrected)
    editor = MemoryEditor(vault, catalogue, living, notices, checks, corrected, clock)
    return Writing(
        living,
        corrected,
        checks,
        near,
        MemoryHandlers(vault, catalogue, living, notices, checks, near, corrected, closings, clock),
        Intake(vault, catalogue, living, notices, parts.state, corrected),
        editor,
        TaskList(vault, catalogue, living, notices, checks, editor, clock),
        CorrectionFollower(corrected, closings, journals),
    )
