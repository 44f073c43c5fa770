"""Makes an engine of its parts: which room asks which."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ..consolidation.models import Postponed
from ..index.indexing_service import IndexingService
from ..migration.bringing import Bringing
from ..migration.former_scopes import FormerScopes
from ..migration.migrations import Migrations
from ..models.notices import Notice
from ..models.settings import EngineSettings
from ..models.status import IndexState
from ..models.turns import Feedback, FeedbackReport, Ticket
from ..reflection.model_histories import ModelHistories
from ..remember.contradictions import ContradictingWrites
from ..remember.rules.privacy import without_private
from ..roles.role_notes import RoleNotes
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..scopes.access import Access
from ..scopes.origins import Origins
from ..scopes.scope_book import ScopeBook
from ..scopes.successors import Successors
from ..service.bylines import Bylines
from ..service.cognitive_service import CognitiveService
from ..service.conversations import Conversations
from ..service.corrections import Corrections
from ..service.decisions import DecisionDesk
from ..service.engine import Engine, EngineRooms
from ..service.engine_parts import EngineParts
from ..service.file_reading import FileReading
from ..service.rebinds import Rebinds
from ..service.recalls import Recalls
from ..service.scope_admin import ScopeAdmin
from ..service.transcripts import Transcripts
from ..service.turns import Turns
from ..service.writes import Writes
from ..sync.follower import VaultFollower
from ..sync.reconciler import Reconciler
from ..transfer.conversation_transfer import Transfer
from .decisions import DecisionParts, make_decisions
from .migration import MigrationParts, make_migration
from .recall import RecallParts, make_recall
from .reflection import LoopHooks, LoopParts, make_loop
from .remember import RememberParts, make_remember


def assemble(
    parts: EngineParts,
    settings: EngineSettings,
    *,
    on_notice: Callable[[Notice], None] | None,
    clock: Callable[[], datetime],
) -> Engine:
    """Opens nothing."""
    life, notices = Lifespan(), NoticeBoard(on_notice)
    book = ScopeBook(settings, parts.state, notices, parts.accounts)
    recall = make_recall(parts, settings, notices, clock)
    remember = make_remember(parts, settings, recall, notices, clock)
    decisions = make_decisions(parts, settings, recall, remember, notices, clock)
    arrivals = make_migration(parts, settings, recall, remember, book, notices, clock)
    migrations = arrivals.migrations
    reconciler = Reconciler(
        parts.vault,
        recall.catalogue,
        remember.living,
        remember.corrected,
        notices,
        clock,
        settings.vault_pace,
        mapped=book.mapped,
    )

    async def apply(feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        return await service.feedback(feedback, ticket=ticket)

    async def follow_files() -> None:
        if parts.vouchers is not None:
            for stored in parts.vouchers.changed(recall.catalogue.all()):
                remember.living.take(stored)
        await remember.follower.follow()
        await decisions.stale_saves.mend()
        await recall.notes.refresh()
        await loop.souls.follow()

    bylines = Bylines(recall.catalogue, recall.unread, parts.state, book.ids_of, parts.is_admin)
    hooks = LoopHooks(
        apply,
        busy=lambda: _busy(life, migrations, recall.indexing),
        may_rotate=lambda: life.is_ready and not reconciler.holds_deletions,
    )
    loop = make_loop(parts, settings, recall, remember, book, notices, clock, hooks, bylines, life)
    migrations.wait_for(loop.loop.sleep.over)
    former = FormerScopes(parts.state, book, recall.catalogue, parts.turns)
    service = _make_service(
        parts,
        settings,
        clock,
        life,
        book,
        recall,
        remember,
        loop,
        arrivals,
        reconciler,
        former,
        bylines,
        decisions,
    )
    rooms = EngineRooms(
        book=book,
        catalogue=recall.catalogue,
        notes=recall.notes,
        unread=recall.unread,
        indexing=recall.indexing,
        words=recall.words,
        trust=recall.trust,
        uses=recall.uses,
        manager=recall.manager,
        intake=remember.intake,
        corrected=remember.corrected,
        corrections=remember.follower,
        migrations=migrations,
        former=former,
        bylines=bylines,
        reconciler=reconciler,
        recorder=decisions.recorder,
        follower=VaultFollower(reconciler, parts.watcher, settings.vault_pace, also=follow_files),
        loop=loop.loop,
        primer=loop.primer,
        backup=loop.backup,
        souls=loop.souls,
        service=service,
    )
    return Engine(parts, rooms, settings, life, notices)


def _busy(life: Lifespan, migrations: Migrations, indexing: IndexingService) -> Postponed:
    """Why no consolidation may begin now."""
    if not life.is_ready:
        return Postponed.UNREADY
    if migrations.going:
        return Postponed.MIGRATING
    return Postponed.BUILDING if indexing.state is IndexState.BUILDING else Postponed.NO


def _make_service(
    parts: EngineParts,
    settings: EngineSettings,
    clock: Callable[[], datetime],
    life: Lifespan,
    book: ScopeBook,
    recall: RecallParts,
    remember: RememberParts,
    loop: LoopParts,
    arrivals: MigrationParts,
    reconciler: Reconciler,
    former: FormerScopes,
    bylines: Bylines,
    decisions: DecisionParts,
) -> CognitiveService:
    catalogue, unread = recall.catalogue, recall.unread
    histories = ModelHistories(parts.state)
    access = Access(settings, book, catalogue, reads_root=parts.vouchers is not None)
    recalls = Recalls(
        access,
        book,
        catalogue,
        recall.manager,
        recall.notes,
        recall.pending,
        unread,
        loop.paused_conversations,
        histories,
        bylines,
    )
    conversations = Conversations(
        access,
        book,
        Origins(parts.state, book),
        Successors(parts.state, book, access, clock),
        former,
        catalogue,
        histories,
        loop.paused_conversations,
        unread,
        bylines,
        life,
        clock,
    )
    turns = Turns(
        access,
        recalls,
        loop.primer,
        conversations,
        loop.paused_conversations,
        histories,
        loop.queue,
        bylines,
        life,
        settings.load_seconds,
    )
    writes = Writes(
        settings,
        access,
        book,
        remember.handlers,
        ContradictingWrites(remember.handlers, remember.near, remember.corrected),
        loop.learning,
        remember.editor,
        remember.tasks,
        Transfer(parts.transfers, catalogue, remember.handlers, clock, parts.version),
        loop.overviews,
        RoleNotes(
            parts.pages,
            parts.leases,
            settings.privacy_mode,
            parts.private_data,
            english=settings.loop.english,
        ),
        recall.notes,
        loop.paused_conversations,
        life,
        clock,
    )
    bringing = Bringing(
        former,
        parts.turns,
        arrivals.holdings,
        remember.editor,
        remember.corrected,
        unread,
        remember.follower,
        arrivals.migrations.run_aside,
    )
    corrections = Corrections(
        access,
        book,
        remember.handlers,
        remember.editor,
        remember.corrected,
        unread,
        remember.follower,
        decisions.stale_saves,
        bringing,
        life,
    )
    desk = DecisionDesk(
        access,
        catalogue,
        decisions.recorder,
        remember.editor,
        parts.private_data,
        clock,
        life,
        needs_reference=parts.vouchers is not None,
        english=settings.loop.english,
    )
    files = FileReading(recalls, parts.pages, recall.notes, loop.paused_conversations)
    transcripts = Transcripts(
        catalogue,
        histories,
        remember.corrected.texts,
        lambda text: without_private(text, settings.privacy_mode, parts.private_data),
    )
    rebinds = Rebinds(
        book, access, former, bringing, loop.paused_conversations, unread, remember.editor, life
    )
    admin = ScopeAdmin(settings, book, former, bringing, remember.editor, reconciler, life, rebinds)
    return CognitiveService(
        settings,
        life,
        access,
        turns,
        recalls,
        files,
        transcripts,
        writes,
        corrections,
        conversations,
        admin,
        desk,
        loop.souls,
    )
