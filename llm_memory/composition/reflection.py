"""Wires the memory loop: queue, reader, nightly run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..catalogue.acquaintances import Acquaintances
from ..consolidation.models import Postponed
from ..consolidation.nightly_backup import NightlyBackup
from ..consolidation.overviews import Overviews
from ..models.settings import EngineSettings
from ..primer.changed_rules import ChangedRules
from ..primer.primer_service import PrimerService
from ..reflection.batch_reader import Apply, BatchReader
from ..reflection.batches import Batches
from ..reflection.feedback_applier import FeedbackApplier
from ..reflection.model_calls import ModelCalls
from ..reflection.reflection_service import ReflectionService
from ..reflection.result_applier import ResultApplier
from ..reflection.token_budget import TokenBudget
from ..reflection.turn_queue import TurnQueue
from ..reflection.unread_follower import UnreadFollower
from ..remember.rules.privacy import without_private
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..scopes.paused_conversations import PausedConversations
from ..scopes.scope_book import ScopeBook
from ..service.bylines import Bylines
from ..service.engine_parts import EngineParts
from ..service.memory_loop import MemoryLoop
from ..service.souls import Souls
from ..soul.style_counts import SqliteStyleCounts
from .consolidation import make_consolidation
from .recall import RecallParts
from .remember import RememberParts
from .souls import make_souls


@dataclass(frozen=True, slots=True)
class LoopParts:
    """The loop, and what the cognitive service asks of its parts."""

    loop: MemoryLoop
    queue: TurnQueue
    learning: FeedbackApplier
    paused_conversations: PausedConversations
    primer: PrimerService
    overviews: Overviews
    backup: NightlyBackup
    souls: Souls


@dataclass(frozen=True, slots=True)
class LoopHooks:
    """What the loop asks of the engine around it.

    Attributes:
        apply: What was learned, applied as any caller would have it.
        busy: Why no consolidation may begin now.
        may_rotate: False while files are missing that an older backup may still have.
    """

    apply: Apply
    busy: Callable[[], Postponed]
    may_rotate: Callable[[], bool]


def make_loop(
    parts: EngineParts,
    settings: EngineSettings,
    recalling: RecallParts,
    writing: RememberParts,
    book: ScopeBook,
    notices: NoticeBoard,
    clock: Clock,
    hooks: LoopHooks,
    bylines: Bylines,
    life: Lifespan,
) -> LoopParts:
    """Opens nothing."""
    paces, catalogue = settings.loop, recalling.catalogue
    acquaintances = Acquaintances(catalogue, book.ids_of)
    primer = PrimerService(
        catalogue,
        parts.loop_book,
        parts.pages,
        recalling.notes,
        paces,
        acquaintances,
        clock,
        bylines.participants,
        writing.corrected,
        ChangedRules(parts.state),
        owners_pages=parts.vouchers is None,
    )
    queue = TurnQueue(
        parts.turns,
        parts.vault,
        clock,
        lambda text: without_private(text, settings.privacy_mode, parts.private_data),
        paces,
        notices,
    )
    style = None
    if paces.counts_manner:
        purges = writing.corrected.purges
        style = SqliteStyleCounts(
            parts.loop_file, lambda person: purges.pseudonym(min(book.ids_of(person)))
        )
    learning = FeedbackApplier(
        parts.turns,
        parts.vault,
        catalogue,
        ResultApplier(catalogue, writing.handlers, writing.corrected, book),
        recalling.uses,
        recalling.unread,
        clock,
        style.count if style else None,
    )
    paused_conversations = PausedConversations(parts.pauses_folder, notices, clock)
    spending = TokenBudget(parts.loop_book, paces.daily_tokens, clock)
    asking = ModelCalls(parts.chat, spending, parts.loop_book, paces, clock)
    notes = recalling.notes
    souls = make_souls(parts, settings, catalogue, notes, asking, style, notices, clock, life)
    backup = NightlyBackup(
        parts.backups,
        writing.living,
        notices,
        clock,
        keep=paces.backups_keep,
        may_rotate=hooks.may_rotate,
        version=parts.version,
        settings=parts.carried_settings,
    )
    overviews = Overviews(
        parts.pages,
        catalogue,
        writing.corrected,
        notices,
        primer.overview,
        english=paces.english,
    )
    sleep = make_consolidation(
        parts,
        overviews=overviews,
        backup=backup,
        recall=recalling,
        living=writing.living,
        corrected=writing.corrected,
        checks=writing.checks,
        near=writing.near,
        model_calls=asking,
        souls=souls.night,
        notices=notices,
        acquaintances=acquaintances,
        clock=clock,
        learns=settings.scope_filter_enabled,
        busy=hooks.busy,
        may_rotate=hooks.may_rotate,
    )
    batches = Batches(parts.turns, paused_conversations.of_key, paces)
    reader = BatchReader(
        batches,
        asking,
        learning,
        writing.corrected,
        hooks.apply,
        daily_tokens=paces.daily_tokens,
        proposes=paces.proposes,
        manner=paces.counts_manner,
    )
    follower = UnreadFollower(
        recalling.unread,
        parts.turns,
        parts.vault,
        writing.handlers,
        writing.corrected,
        paused_conversations,
    )
    reflection = ReflectionService(
        batches,
        asking,
        learning,
        reader,
        clock,
        follower.follow,
        learns=settings.scope_filter_enabled,
    )
    loop = MemoryLoop(
        parts.loop_file,
        parts.turns,
        catalogue,
        parts.loop_book,
        paused_conversations,
        paces,
        notices,
        clock,
        reflection,
        sleep,
        queue,
    )
    return LoopParts(loop, queue, learning, paused_conversations, primer, overviews, backup, souls)
