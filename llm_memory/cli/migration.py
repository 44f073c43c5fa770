"""``migrate-scope``: how far old memories are, and taking back what was done with them."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import asdict

from ..composition.engine import build_engine
from ..migration.migrations import Migrations
from ..models.migration import MigrationStatus, ReverseReport, Tally
from .messages import DONE, FAILED, PARTLY, fail, say, say_value, words
from .paths import BotStore, plugin_version

_WAYS = (
    ("scanned", "看过"), ("patched", "补上域"), ("skipped", "不必补"), ("adopted", "收下"),
    ("merged", "合并"), ("quarantined", "隔离"), ("broken", "坏的"),
)  # fmt: skip


def migrate_scope(args: argparse.Namespace, store: BotStore) -> int:
    """Bringing itself happens behind the bot; here it is looked at, and taken back."""
    return asyncio.run(_opened(args, store))


async def _opened(args: argparse.Namespace, store: BotStore) -> int:
    engine = build_engine(store.paths, store.settings(), version=plugin_version(), remembers=False)
    try:
        await engine.open()
        return await _do(args, engine.migrations)
    finally:
        await engine.close()


async def _do(args: argparse.Namespace, migrations: Migrations) -> int:
    if args.dry_run:
        tally = await migrations.dry_run()
        say("试算，什么也没有改：", "a dry run, nothing was changed:")
        say(_numbers(tally))
        return DONE
    if args.reverse:
        report = await migrations.reverse()
        if report == ReverseReport():
            say(
                "没有要还原的；旧集合所在的 Chroma 服务器要写在面板里（advanced.chroma_url）",
                "nothing to reverse; the panel has to name the Chroma server (advanced.chroma_url)",
            )
        return _print_report(report, "旧集合已还原", "records given back what they held")
    if args.take_back:
        taken = await migrations.take_back(args.take_back)
        if taken is None:
            return fail(f"没有这一批：{args.take_back}", f"no such batch: {args.take_back}")
        return _print_report(taken, "已收回到 archive/", "taken back into archive/")
    return _status(migrations.status())


def _print_report(report: ReverseReport, zh: str, en: str) -> int:
    say_value(zh, en, report.restored)
    if report.left:
        say_value("其间改过或不在了，没有动", "changed meanwhile or gone, left alone", report.left)
    return PARTLY if report.left else DONE


def _status(status: MigrationStatus) -> int:
    state = f"{status.state} (reversed)" if status.reversed else str(status.state)
    say_value("状态", "state", state + (f" ({status.detail})" if status.detail else ""))
    say(_numbers(status.tally))
    for batch, source in status.batches.items():
        say_value(f"批次 {batch}", f"batch {batch}", source)
    return FAILED if status.detail else DONE


def _numbers(tally: Tally) -> str:
    counts = asdict(tally)
    return ", ".join(f"{words(word, name)} {counts[name]}" for name, word in _WAYS)
