"""Which room asks which: the manner that personas learn."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ..catalogue.catalogue import Catalogue
from ..models.settings import EngineSettings
from ..reflection.model_calls import ModelCalls
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..soul.governance import Governance
from ..soul.probe_verdicts import SqliteProbeVerdicts
from ..soul.rules.soul_text import seed
from ..soul.style_counts import SqliteStyleCounts
from ..storage.soul_heads import SoulHeads
from ..vault.notes.note_book import NoteBook
from .engine_parts import EngineParts
from .souls import SoulCalls, Souls


def make_souls(
    parts: EngineParts,
    settings: EngineSettings,
    catalogue: Catalogue,
    notes: NoteBook,
    calls: ModelCalls | None,
    style: SqliteStyleCounts | None,
    notices: NoticeBoard,
    clock: Callable[[], datetime],
    life: Lifespan,
) -> Souls:
    """Opens nothing. ``calls`` is None where there is no model, ``style`` where no wishes on manner
    are counted."""
    governance = Governance(
        parts.soul_files,
        SoulHeads(parts.state),
        clock,
        seed=seed("en" if settings.loop.english else "zh").encode(),
        evolution=settings.soul_evolution,
    )

    def private_names() -> list[str]:
        return [scope.name for scope in parts.vault.scopes() if not scope.is_public]

    return Souls(
        governance,
        SoulCalls(calls, life) if calls else None,
        SqliteProbeVerdicts(parts.loop_file),
        style,
        catalogue,
        notes,
        private_names,
        parts.vault.archived_anywhere,
        parts.persona_prompt,
        notices,
        clock,
        life,
        settings.soul_evolution,
    )
