"""What a recall is made of, introduced to each other."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.settings import EngineSettings
from .arms import Arms
from .catalogue import Catalogue
from .day_recall import DayRecall
from .embedder_trust import EmbedderTrust
from .engine_parts import EngineParts
from .identifiers import Clock
from .indexing_service import IndexingService
from .lexical_service import LexicalService
from .long_lived import LongLived
from .memory_manager import MemoryManager
from .note_book import NoteBook
from .notice_board import NoticeBoard
from .passages import Passages
from .pending_records import PendingRecords
from .reranking import Reranking
from .unread_turns import UnreadTurns
from .use_counts import UseCounts


@dataclass(frozen=True, slots=True)
class Recalling:
    """What lives, the indexes that follow it, and who asks them."""

    catalogue: Catalogue
    notes: NoteBook
    pending: PendingRecords
    unread: UnreadTurns
    long_lived: LongLived
    indexing: IndexingService
    words: LexicalService
    trust: EmbedderTrust
    uses: UseCounts
    manager: MemoryManager


def make_recalling(
    parts: EngineParts, settings: EngineSettings, notices: NoticeBoard, clock: Clock
) -> Recalling:
    """Opens nothing."""
    catalogue = Catalogue()
    # What follows the notes asks the note book, too: it is told of its followers afterwards.
    notes = NoteBook(parts.notes, notices)
    pending = PendingRecords(catalogue)
    unread = UnreadTurns()
    passages = Passages(catalogue, notes, pending, unread)
    long_lived = LongLived()
    indexing = IndexingService(
        Passages(catalogue, notes, unread=unread),
        parts.store,
        parts.manifest,
        parts.cache,
        notices,
        settings.pace,
        long_lived.grow,
        embed_query_seconds=settings.embed_query_seconds,
    )
    words = LexicalService(
        Passages(catalogue, notes, pending),
        unread,
        parts.words,
        notices,
        settings.pace,
        long_lived.grow,
    )
    notes.follow_with(indexing, words)
    pending.follow_with(words, long_lived)
    unread.follow_with(indexing)
    arms = Arms(passages, words, indexing, parts.scanner)
    trust = EmbedderTrust(parts.trust, settings.pace)
    uses = UseCounts(parts.state, parts.loop_book)
    manager = MemoryManager(
        passages,
        arms,
        indexing,
        trust,
        Reranking(parts.reranker, settings),
        uses,
        DayRecall(catalogue, passages, arms, uses),
        settings,
        clock,
    )
    return Recalling(
        catalogue, notes, pending, unread, long_lived, indexing, words, trust, uses, manager
    )
