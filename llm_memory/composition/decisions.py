"""Wires what publishes decisions."""

from __future__ import annotations

from dataclasses import dataclass

from ..decisions.recorder import Recorder
from ..decisions.stale_saves import StaleSaves
from ..models.settings import EngineSettings
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..service.engine_parts import EngineParts
from ..storage.record_intents import RecordIntents
from .recall import RecallParts
from .remember import RememberParts


@dataclass(frozen=True, slots=True)
class DecisionParts:
    """The one writer of records, and what puts back those that an old buffer dropped."""

    recorder: Recorder
    stale_saves: StaleSaves


def make_decisions(
    parts: EngineParts,
    settings: EngineSettings,
    recall: RecallParts,
    remember: RememberParts,
    notices: NoticeBoard,
    clock: Clock,
) -> DecisionParts:
    """Opens nothing."""
    intents = RecordIntents(parts.state)
    stale_saves = StaleSaves(parts.shared, intents, notices, clock)
    recorder = Recorder(
        parts.shared,
        intents,
        recall.catalogue,
        remember.editor,
        recall.notes,
        stale_saves,
        notices,
        clock,
        english=settings.loop.english,
    )
    return DecisionParts(recorder, stale_saves)
