"""Which room asks which: what comes from elsewhere, and the front door."""

from __future__ import annotations

from functools import cached_property

from ..consolidation.models import Postponed
from ..migration.adoption import Adoption
from ..migration.batch_intake import BatchIntake
from ..migration.bringing import Bringing
from ..migration.former_scopes import FormerScopes
from ..migration.holdings import Holdings
from ..migration.migrations import Migrations
from ..migration.record_walker import RecordWalker
from ..migration.scope_migration import ScopeMigration
from ..migration.source import Source
from ..models.status import IndexState
from ..models.turns import Feedback, FeedbackReport, Ticket
from ..reflection.model_histories import ModelHistories
from ..roles.role_notes import RoleNotes
from ..scopes.access import Access
from ..scopes.origins import Origins
from ..sync.follower import VaultFollower
from ..tasks.task_list import TaskList
from ..transfer.conversation_transfer import Transfer
from .cognitive_service import CognitiveService
from .conversations import Conversations
from .loop_rooms import LoopRooms
from .scope_admin import Rebinds, ScopeAdmin
from .transcripts import Transcripts


class EngineRooms(LoopRooms):
    """What comes from elsewhere, and the front door."""

    @cached_property
    def holdings(self) -> Holdings:
        return Holdings(self.parts.migrations, self.parts.vault, self.catalogue, self.living)

    @cached_property
    def migrations(self) -> Migrations:
        parts, settings = self.parts, self.settings
        walker = RecordWalker(parts.migrations, settings.walk_pace)
        walker.paused = settings.migration_paused
        intake = BatchIntake(self.holdings, self.intake)
        sources: list[Source] = []
        if parts.legacy is not None:
            sources.append(
                ScopeMigration(
                    parts.legacy,
                    parts.migrations,
                    walker,
                    intake,
                    self.pending,
                    self.words,
                    self.clock,
                    settings.migration_mode,
                )
            )
        if parts.others is not None and parts.staging is not None:
            sources.append(
                Adoption(
                    parts.others,
                    parts.staging,
                    parts.migrations,
                    walker,
                    intake,
                    self.catalogue,
                    self.words,
                    self.book,
                    self.notices,
                    self.clock,
                    enabled=settings.adopt_legacy,
                )
            )
        mode = settings.migration_mode
        migrations = Migrations(walker, sources, self.holdings, self.clock, mode=mode)
        migrations.wait_for(self.sleep.over)
        return migrations

    @cached_property
    def former(self) -> FormerScopes:
        return FormerScopes(self.parts.state, self.book, self.catalogue, self.parts.turns)

    @cached_property
    def bringing(self) -> Bringing:
        return Bringing(
            self.former,
            self.parts.turns,
            self.holdings,
            self.editor,
            self.corrected,
            self.unread,
            self.corrections,
            self.migrations.run_aside,
        )

    @cached_property
    def histories(self) -> ModelHistories:
        return ModelHistories(self.parts.state)

    @cached_property
    def access(self) -> Access:
        return Access(self.settings, self.book, self.catalogue, reads_root=not self.is_bots)

    @cached_property
    def conversations(self) -> Conversations:
        return Conversations(
            self.access,
            self.book,
            Origins(self.parts.state, self.book),
            self.former,
            self.paused_conversations,
            self.bylines,
            self.life,
        )

    @cached_property
    def admin(self) -> ScopeAdmin:
        rebinds = Rebinds(
            self.book,
            self.access,
            self.former,
            self.bringing,
            self.paused_conversations,
            self.unread,
            self.editor,
            self.life,
        )
        return ScopeAdmin(
            self.settings,
            self.book,
            self.former,
            self.bringing,
            self.editor,
            self.catalogue,
            self.reconciler,
            self.life,
            rebinds,
        )

    @cached_property
    def service(self) -> CognitiveService:
        parts, settings = self.parts, self.settings
        return CognitiveService(
            self.life,
            self.access,
            settings,
            self.book,
            self.catalogue,
            self.manager,
            self.notes,
            self.pending,
            self.unread,
            self.paused_conversations,
            self.histories,
            self.bylines,
            parts.pages,
            self.primer,
            self.conversations,
            self.queue,
            self.recorder,
            self.editor,
            parts.private_data,
            self.clock,
            not self.is_bots,
            settings.loop.english,
            self.handlers,
            self.corrected,
            self.corrections,
            self.intents,
            self.bringing,
            self.learning,
            TaskList(
                parts.vault,
                self.catalogue,
                self.living,
                self.notices,
                self.checks,
                self.editor,
                self.clock,
            ),
            Transfer(parts.transfers, self.catalogue, self.handlers, self.clock, parts.version),
            self.overviews,
            RoleNotes(
                parts.pages,
                parts.leases,
                settings.privacy_mode,
                parts.private_data,
                english=settings.loop.english,
            ),
            Transcripts(
                self.book,
                self.catalogue,
                self.histories,
                self.corrected.texts,
                self.without_private,
            ),
            self.former,
            self.admin,
            self.souls,
        )

    @cached_property
    def follower(self) -> VaultFollower:
        return VaultFollower(
            self.reconciler, self.parts.watcher, self.settings.vault_pace, also=self.follow_files
        )

    async def follow_files(self) -> None:
        """Do what a round leaves to do."""
        if self.parts.vouchers is not None:
            for stored in self.parts.vouchers.changed(self.catalogue.all()):
                self.living.take(stored)
        await self.corrections.follow()
        await self.notes.refresh()
        await self.souls.follow()

    async def apply(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        return await self.service.feedback(feedback, ticket=ticket)

    def busy(self) -> Postponed:
        if not self.life.is_ready:
            return Postponed.UNREADY
        if self.migrations.going:
            return Postponed.MIGRATING
        is_building = self.indexing.state is IndexState.BUILDING
        return Postponed.BUILDING if is_building else Postponed.NO
