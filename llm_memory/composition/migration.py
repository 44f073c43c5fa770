"""Wires scope migration and adoption."""

from __future__ import annotations

from dataclasses import dataclass

from ..migration.adoption import Adoption
from ..migration.batch_intake import BatchIntake
from ..migration.holdings import Holdings
from ..migration.migrations import Migrations
from ..migration.record_walker import RecordWalker
from ..migration.scope_migration import ScopeMigration
from ..migration.source import Source
from ..models.settings import EngineSettings
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from ..service.engine_parts import EngineParts
from .recall import RecallParts
from .remember import RememberParts


@dataclass(frozen=True, slots=True)
class MigrationParts:
    migrations: Migrations
    holdings: Holdings


def make_migration(
    parts: EngineParts,
    settings: EngineSettings,
    recalling: RecallParts,
    writing: RememberParts,
    book: ScopeBook,
    notices: NoticeBoard,
    clock: Clock,
) -> MigrationParts:
    """Opens nothing."""
    walker = RecordWalker(parts.migrations, settings.walk_pace)
    walker.paused = settings.migration_paused
    holdings = Holdings(parts.migrations, parts.vault, recalling.catalogue, writing.living)
    intake = BatchIntake(holdings, writing.intake)
    sources: list[Source] = []
    if parts.legacy is not None:
        sources.append(
            ScopeMigration(
                parts.legacy,
                parts.migrations,
                walker,
                intake,
                recalling.pending,
                recalling.words,
                clock,
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
                recalling.catalogue,
                recalling.words,
                book,
                notices,
                clock,
                enabled=settings.adopt_legacy,
            )
        )
    migrations = Migrations(walker, sources, holdings, clock, mode=settings.migration_mode)
    return MigrationParts(migrations, holdings)
