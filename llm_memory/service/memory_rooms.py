"""Which room asks which: what finds and changes memories."""

from __future__ import annotations

from functools import cached_property

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.unread_turns import UnreadTurns
from ..decisions.recorder import Recorder
from ..index.indexing_service import IndexingService
from ..index.lexical_service import LexicalService
from ..index.passages import Passages
from ..index.pending_records import PendingRecords
from ..models.settings import EngineSettings
from ..recall.arms import Arms
from ..recall.embedder_trust import EmbedderTrust
from ..recall.memory_manager import MemoryManager
from ..recall.reranking import Reranking
from ..recall.use_counts import UseCounts
from ..remember.corrected_statements import CorrectedStatements
from ..remember.correction_follower import Closings, CorrectedJournals, CorrectionFollower
from ..remember.draft_checks import DraftChecks
from ..remember.edit import MemoryEditor
from ..remember.intake import Intake
from ..remember.memory_handlers import MemoryHandlers
from ..remember.near_duplicates import NearDuplicates
from ..remember.rules.privacy import without_private
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from ..storage.record_intents import RecordIntents
from ..sync.reconciler import Reconciler
from ..vault.notes.note_book import NoteBook
from ..vault.notes.root_notes import RootNotices
from .bylines import Bylines
from .engine_parts import EngineParts


class MemoryRooms:
    """What finds and changes memories. Each room is made when the first one asks for it."""

    def __init__(
        self,
        parts: EngineParts,
        settings: EngineSettings,
        life: Lifespan,
        notices: NoticeBoard,
        clock: Clock,
    ) -> None:
        """Opens nothing."""
        self.parts = parts
        self.settings = settings
        self.life = life
        self.notices = notices
        self.clock = clock
        self.is_bots = parts.vouchers is None
        """Of a bot, and not of a project's agents: those vouch for entries, and read the root."""

    @cached_property
    def book(self) -> ScopeBook:
        return ScopeBook(self.settings, self.parts.state, self.notices, self.parts.accounts)

    @cached_property
    def catalogue(self) -> Catalogue:
        vouchers = self.parts.vouchers
        return Catalogue() if vouchers is None else Catalogue(vouchers.as_held)

    @cached_property
    def notes(self) -> NoteBook:
        root = RootNotices(self.notices, self.parts.state, reads_root=not self.is_bots)
        return NoteBook(self.parts.notes, self.notices, root)

    @cached_property
    def pending(self) -> PendingRecords:
        return PendingRecords(self.catalogue)

    @cached_property
    def unread(self) -> UnreadTurns:
        return UnreadTurns()

    @cached_property
    def passages(self) -> Passages:
        return Passages(self.catalogue, self.notes, self.pending, self.unread)

    @cached_property
    def indexing(self) -> IndexingService:
        indexing = IndexingService(
            Passages(self.catalogue, self.notes, unread=self.unread),
            self.parts.store,
            self.parts.manifest,
            self.parts.cache,
            self.notices,
            self.settings.pace,
            embed_query_seconds=self.settings.embed_query_seconds,
        )
        self.unread.follow_with(indexing)
        return indexing

    @cached_property
    def words(self) -> LexicalService:
        words = LexicalService(
            Passages(self.catalogue, self.notes, self.pending),
            self.unread,
            self.parts.words,
            self.notices,
            self.settings.pace,
        )
        self.pending.follow_with(words)
        # The indexes ask the note book, which is told of them afterwards.
        self.notes.follow_with(self.indexing, words)
        return words

    @cached_property
    def trust(self) -> EmbedderTrust:
        return EmbedderTrust(self.parts.trust, self.settings.pace)

    @cached_property
    def uses(self) -> UseCounts:
        return UseCounts(self.passages, self.parts.state, self.parts.loop_book)

    @cached_property
    def manager(self) -> MemoryManager:
        return MemoryManager(
            self.catalogue,
            self.passages,
            Arms(self.passages, self.words, self.indexing, self.parts.scanner, self.trust),
            self.indexing,
            self.trust,
            Reranking(self.parts.reranker, self.settings),
            self.uses,
            self.settings,
            self.clock,
            self.parts.weights,
        )

    @cached_property
    def living(self) -> RecallableMemories:
        return RecallableMemories(self.catalogue, [self.indexing, self.pending])

    @cached_property
    def checks(self) -> DraftChecks:
        return DraftChecks(self.book, self.settings.privacy_mode, self.parts.private_data)

    @cached_property
    def near(self) -> NearDuplicates:
        seconds = self.settings.embed_draft_seconds
        return NearDuplicates(self.catalogue, self.indexing, self.words, seconds=seconds)

    @cached_property
    def corrected(self) -> CorrectedStatements:
        return CorrectedStatements(self.parts.state, self.clock)

    @cached_property
    def closings(self) -> Closings:
        return Closings(self.parts.vault, self.catalogue, self.living, self.corrected)

    @cached_property
    def journals(self) -> CorrectedJournals:
        return CorrectedJournals(
            self.parts.vault, self.catalogue, self.living, self.corrected, self.clock
        )

    @cached_property
    def editor(self) -> MemoryEditor:
        return MemoryEditor(
            self.parts.vault,
            self.catalogue,
            self.living,
            self.notices,
            self.checks,
            self.corrected,
            self.clock,
        )

    @cached_property
    def handlers(self) -> MemoryHandlers:
        return MemoryHandlers(
            self.parts.vault,
            self.catalogue,
            self.living,
            self.notices,
            self.checks,
            self.near,
            self.corrected,
            self.closings,
            self.parts.weights.newer,
            self.clock,
        )

    @cached_property
    def intake(self) -> Intake:
        return Intake(
            self.parts.vault,
            self.catalogue,
            self.living,
            self.notices,
            self.parts.state,
            self.corrected,
        )

    @cached_property
    def corrections(self) -> CorrectionFollower:
        return CorrectionFollower(self.corrected, self.unread, self.closings, self.journals)

    @cached_property
    def bylines(self) -> Bylines:
        parts, ids_of = self.parts, self.book.ids_of
        state, is_admin = parts.state, parts.is_admin
        return Bylines(self.catalogue, self.unread, state, ids_of, is_admin, self.clock)

    @cached_property
    def reconciler(self) -> Reconciler:
        return Reconciler(
            self.parts.vault,
            self.catalogue,
            self.living,
            self.corrected,
            self.notices,
            self.clock,
            self.settings.vault_pace,
            mapped=self.book.mapped,
        )

    @cached_property
    def intents(self) -> RecordIntents:
        return RecordIntents(self.parts.state)

    @cached_property
    def recorder(self) -> Recorder:
        return Recorder(
            self.parts.shared,
            self.intents,
            self.catalogue,
            self.editor,
            self.notes,
            self.notices,
            self.clock,
            english=self.settings.loop.english,
        )

    def without_private(self, text: str) -> str:
        """Returns a text without numbers and keys that are hidden in this store."""
        return without_private(text, self.settings.privacy_mode, self.parts.private_data)
