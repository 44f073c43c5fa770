"""``migrate-scope``: how far old memories are, and taking back what was done with them."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import asdict

from ..composition.engine import build_engine
from ..migration.migrations import Migrations
from ..models.migration import MigrationStatus
from .messages import DONE, FAILED, PARTLY, fail, say, say_counts
from .paths import BotStore, plugin_version


def migrate_scope(args: argparse.Namespace, store: BotStore) -> int:
    """Bringing itself happens behind the bot; here it is looked at, and taken back."""
    return asyncio.run(_opened(args, store))


async def _opened(args: argparse.Namespace, store: BotStore) -> int:
    version = plugin_version()
    async with build_engine(
        store.paths, store.settings(), version=version, remembers=False
    ) as engine:
        return await _do(args, engine.migrations)


async def _do(args: argparse.Namespace, migrations: Migrations) -> int:
    if args.dry_run:
        tally = await migrations.dry_run()
        say("cli.dry_run")
        say_counts("migrate", **asdict(tally))
        return DONE
    if args.reverse:
        restored, left = await migrations.reverse()
        if not restored and not left:
            say("collection.nothing_to_reverse")
        else:
            say("collection.reversed", count=restored)
        return _tell_left(left)
    if args.take_back:
        taken = await migrations.take_back(args.take_back)
        if taken is None:
            return fail("collection.no_batch", batch=args.take_back)
        say("collection.taken_back", count=taken[0])
        return _tell_left(taken[1])
    return _status(migrations.status())


def _tell_left(left: int) -> int:
    if left:
        say("collection.left", count=left)
    return PARTLY if left else DONE


def _status(status: MigrationStatus) -> int:
    state = f"{status.state} (reversed)" if status.reversed else str(status.state)
    say("collection.state", state=state + (f" ({status.detail})" if status.detail else ""))
    say_counts("migrate", **asdict(status.tally))
    for batch, source in status.batches.items():
        say("migrate.batch", batch=batch, source=source)
    return FAILED if status.detail else DONE
