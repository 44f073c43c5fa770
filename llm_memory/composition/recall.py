"""Wires recall and the indexes that it asks."""

from __future__ import annotations

from dataclasses import dataclass

from ..catalogue.catalogue import Catalogue
from ..catalogue.unread_turns import UnreadTurns
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
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..service.engine_parts import EngineParts
from ..vault.notes.note_book import NoteBook
from ..vault.notes.root_notes import RootNotices


@dataclass(frozen=True, slots=True)
class RecallParts:
    """What lives, the indexes that follow it, and who asks them."""

    catalogue: Catalogue
    notes: NoteBook
    pending: PendingRecords
    unread: UnreadTurns
    indexing: IndexingService
    words: LexicalService
    trust: EmbedderTrust
    uses: UseCounts
    manager: MemoryManager


def make_recall(
    parts: EngineParts, settings: EngineSettings, notices: NoticeBoard, clock: Clock
) -> RecallParts:
    """Opens nothing."""
    vouchers = parts.vouchers
    catalogue = Catalogue() if vouchers is None else Catalogue(vouchers.as_held)
    # What follows the notes asks the note book, too: it is told of its followers afterwards.
    root = RootNotices(notices, parts.state, reads_root=vouchers is not None)
    notes = NoteBook(parts.notes, notices, root)
    pending = PendingRecords(catalogue)
    unread = UnreadTurns()
    passages = Passages(catalogue, notes, pending, unread)
    indexing = IndexingService(
        Passages(catalogue, notes, unread=unread),
        parts.store,
        parts.manifest,
        parts.cache,
        notices,
        settings.pace,
        embed_query_seconds=settings.embed_query_seconds,
    )
    words = LexicalService(
        Passages(catalogue, notes, pending),
        unread,
        parts.words,
        notices,
        settings.pace,
    )
    notes.follow_with(indexing, words)
    pending.follow_with(words)
    unread.follow_with(indexing)
    trust = EmbedderTrust(parts.trust, settings.pace)
    arms = Arms(passages, words, indexing, parts.scanner, trust)
    uses = UseCounts(passages, parts.state, parts.loop_book)
    manager = MemoryManager(
        catalogue,
        passages,
        arms,
        indexing,
        trust,
        Reranking(parts.reranker, settings),
        uses,
        settings,
        clock,
        parts.weights,
    )
    return RecallParts(catalogue, notes, pending, unread, indexing, words, trust, uses, manager)
