"""Which room asks which: what reads turns, and works at night."""

from __future__ import annotations

from functools import cached_property

from ..catalogue.acquaintances import Acquaintances
from ..consolidation.archive_step import ArchiveStep
from ..consolidation.consolidation_service import ConsolidationParts, ConsolidationService
from ..consolidation.day_journals import DayJournals
from ..consolidation.decay_step import DecayStep
from ..consolidation.merging import MergeStep
from ..consolidation.models import Postponed
from ..consolidation.nightly_backup import NightlyBackup
from ..consolidation.overviews import Overviews
from ..consolidation.purge_remnants import PurgeParts, PurgeRemnants
from ..consolidation.question_step import QuestionStep
from ..models.turns import Feedback, FeedbackReport, Ticket
from ..primer.changed_rules import ChangedRules
from ..primer.primer_service import PrimerService
from ..reflection.batch_reader import BatchReader
from ..reflection.batches import Batches
from ..reflection.feedback_applier import FeedbackApplier
from ..reflection.model_calls import ModelCalls
from ..reflection.reflection_service import ReflectionService
from ..reflection.result_applier import ResultApplier
from ..reflection.token_budget import TokenBudget
from ..reflection.turn_queue import TurnQueue
from ..reflection.unread_follower import UnreadFollower
from ..scopes.paused_conversations import PausedConversations
from ..soul.style_counts import SqliteStyleCounts
from .memory_loop import MemoryLoop
from .memory_rooms import MemoryRooms
from .soul_rooms import make_souls
from .souls import Souls


class LoopRooms(MemoryRooms):
    """What reads turns, and works at night."""

    @cached_property
    def acquaintances(self) -> Acquaintances:
        return Acquaintances(self.catalogue, self.book.ids_of)

    @cached_property
    def primer(self) -> PrimerService:
        return PrimerService(
            self.catalogue,
            self.parts.loop_book,
            self.parts.pages,
            self.notes,
            self.settings.loop,
            self.acquaintances,
            self.clock,
            self.bylines.participants,
            self.corrected,
            ChangedRules(self.parts.state),
            owners_pages=self.is_bots,
        )

    @cached_property
    def queue(self) -> TurnQueue:
        return TurnQueue(
            self.book,
            self.parts.turns,
            self.parts.vault,
            self.clock,
            self.without_private,
            self.settings.loop,
            self.notices,
        )

    @cached_property
    def style(self) -> SqliteStyleCounts | None:
        if not self.settings.loop.counts_manner:
            return None
        purges, ids_of = self.corrected.purges, self.book.ids_of
        return SqliteStyleCounts(
            self.parts.loop_file, lambda person: purges.pseudonym(min(ids_of(person)))
        )

    @cached_property
    def learning(self) -> FeedbackApplier:
        return FeedbackApplier(
            self.parts.turns,
            self.parts.vault,
            self.catalogue,
            ResultApplier(self.catalogue, self.handlers, self.corrected, self.book),
            self.uses,
            self.unread,
            self.clock,
            self.style.count if self.style else None,
        )

    @cached_property
    def paused_conversations(self) -> PausedConversations:
        return PausedConversations(self.parts.pauses_folder, self.notices, self.clock)

    @cached_property
    def model_calls(self) -> ModelCalls:
        book, paces = self.parts.loop_book, self.settings.loop
        spending = TokenBudget(book, paces.daily_tokens, self.clock)
        return ModelCalls(self.parts.chat, spending, book, paces, self.clock)

    @cached_property
    def souls(self) -> Souls:
        return make_souls(
            self.parts,
            self.settings,
            self.catalogue,
            self.notes,
            self.model_calls,
            self.style,
            self.notices,
            self.clock,
            self.life,
        )

    @cached_property
    def backup(self) -> NightlyBackup:
        return NightlyBackup(
            self.parts.backups,
            self.living,
            self.notices,
            self.clock,
            keep=self.settings.loop.backups_keep,
            may_rotate=self.may_rotate,
            version=self.parts.version,
            settings=self.parts.carried_settings,
        )

    @cached_property
    def overviews(self) -> Overviews:
        return Overviews(
            self.parts.pages,
            self.catalogue,
            self.corrected,
            self.notices,
            self.primer.overview,
            english=self.settings.loop.english,
        )

    @cached_property
    def remnants(self) -> PurgeRemnants:
        parts = self.parts
        walks = {"state/migration.sqlite": parts.migrations.forget}
        if parts.staging is not None:
            walks["state/adoption/"] = parts.staging.forget
        files = PurgeParts(
            parts.files,
            parts.state,
            parts.turns,
            parts.loop_file,
            parts.sleep_store,
            self.words,
            self.indexing,
            walks,
        )
        return PurgeRemnants(
            files,
            parts.vault,
            self.catalogue,
            self.notes,
            self.living,
            self.corrected,
            self.backup,
            self.notices,
        )

    @cached_property
    def sleep(self) -> ConsolidationService:
        parts, vault, catalogue, living = self.parts, self.parts.vault, self.catalogue, self.living
        archive = ArchiveStep(vault, catalogue, living, self.closings, self.clock)
        steps = ConsolidationParts(
            DecayStep(parts.loop_book, vault, catalogue, living, archive),
            MergeStep(parts.sleep_store, catalogue, self.near, archive),
            DayJournals(
                parts.sleep_store,
                parts.turns,
                vault,
                catalogue,
                living,
                self.journals,
                self.checks,
                self.acquaintances,
                self.clock,
            ),
            self.overviews,
            QuestionStep(vault, catalogue, living, self.checks, self.model_calls, self.uses.of),
            self.souls.night,
            self.backup,
            self.remnants,
        )
        return ConsolidationService(
            parts.sleep_store,
            parts.loop_book,
            vault,
            self.notices,
            self.clock,
            steps,
            busy=self.busy,
            learns=lambda: self.settings.scope_filter_enabled and self.may_rotate(),
        )

    @cached_property
    def reflection(self) -> ReflectionService:
        paces = self.settings.loop
        batches = Batches(self.parts.turns, self.paused_conversations.of_key, paces)
        reader = BatchReader(
            batches,
            self.model_calls,
            self.learning,
            self.corrected,
            self.apply,
            daily_tokens=paces.daily_tokens,
            proposes=paces.proposes,
            manner=paces.counts_manner,
        )
        follower = UnreadFollower(
            self.unread,
            self.parts.turns,
            self.parts.vault,
            self.handlers,
            self.corrected,
            self.paused_conversations,
        )
        return ReflectionService(
            batches,
            self.model_calls,
            self.learning,
            reader,
            self.clock,
            follower.follow,
            learns=self.settings.scope_filter_enabled,
        )

    @cached_property
    def loop(self) -> MemoryLoop:
        return MemoryLoop(
            self.parts.loop_file,
            self.parts.turns,
            self.catalogue,
            self.parts.loop_book,
            self.paused_conversations,
            self.settings.loop,
            self.notices,
            self.clock,
            self.reflection,
            self.sleep,
            self.queue,
        )

    async def apply(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned as any caller would have it."""
        raise NotImplementedError

    def busy(self) -> Postponed:
        """Returns why no consolidation may begin now."""
        raise NotImplementedError

    def may_rotate(self) -> bool:
        """Returns False while files are missing that an older backup may still have."""
        return self.life.is_ready and not self.reconciler.holds_deletions
