"""``export``, ``restore``, ``import``."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from contextlib import closing
from functools import partial

from ..composition.engine import build_engine
from ..composition.export_restore import export_store, owned, restore_store
from ..composition.paths import EnginePaths, local_now
from ..models.data_models import Rejected
from ..models.transfer import Imported, NotTransferred, StoreRestored
from ..storage.files import replace_durably
from ..transfer.line_files import LineFile
from ..transfer.rules.carried_settings import carried, to_put_back, with_changes
from .messages import DONE, PARTLY, Refusal, fail, fault_text, say, tell_lines
from .paths import BotStore, plugin_version, setting_defaults

_SAID_AFTER = 10_000
"""Lines."""


def export(args: argparse.Namespace, store: BotStore) -> int:
    paths, now = store.paths, local_now()
    target = args.file or paths.data / "exports" / f"store-{now:%Y%m%d-%H%M%S}.jsonl"
    if target.exists():
        raise Refusal(f"已经有这个文件 / this file exists: {target}")
    scopes = _scopes(args, paths)
    with owned(paths, version=plugin_version()):
        done = export_store(
            paths,
            target,
            scopes=scopes,
            now=now,
            version=plugin_version(),
            settings=carried(store.config),
        )
    say(
        f"已导出 {done.memories} 条记忆、{done.files} 个文件 / "
        f"exported {done.memories} memories, {done.files} files: {target}"
    )
    for left in done.left_out:
        say(f"没有带上 / left out: {left.place}/{left.path} ({left.reason})")
    return DONE


def _scopes(args: argparse.Namespace, paths: EnginePaths) -> list[str] | None:
    named: list[str] | None = args.scope
    folders = {folder.name for folder in (paths.memory / "scopes").iterdir()}
    for name in named or ():
        if name not in folders:
            raise Refusal(f"没有这个域 / no such scope: {name}")
    return named


def restore(args: argparse.Namespace, store: BotStore) -> int:
    said = 0

    def progress(number: int) -> None:
        nonlocal said
        if number // _SAID_AFTER > said:
            said = number // _SAID_AFTER
            say(f"… {number}")

    with owned(store.paths, version=plugin_version()):
        do = partial(restore_store, store.paths, args.file, scopes=args.scope, anyway=args.anyway)
        if sys.stdin.isatty() and not args.yes and not _agreed(do(dry=True), store):
            raise Refusal("什么也没有改 / nothing was changed")
        done = do(progress=progress)
        _put_back(done, store)
    say(
        f"放回 {done.memories} 条记忆（早已有 {done.known} 条），写了 {done.files} 个文件"
        f"（{done.same} 个原样已在） / restored {done.memories} memories ({done.known} known "
        f"already), wrote {done.files} files ({done.same} there already)"
    )
    if done.corrected:
        say(
            f"忘掉、改过、移走的 {done.corrected} 条没有放回，要的话加 --anyway / "
            f"{done.corrected} were forgotten, edited or moved away: left out, see --anyway"
        )
    for scope, path in done.differing:
        say(
            f"已有另一个样子，没有动，缺的记忆补在后面 / differs, left as it is, missing memories "
            f"added: {scope}/{path}"
        )
    return tell_lines(done.lines, done.refused, cut_short=done.cut_short)


def _agreed(plan: StoreRestored, store: BotStore) -> bool:
    say(
        f"会放回 {plan.memories} 条记忆（早已有 {plan.known} 条），写 {plan.files} 个文件 / "
        f"would put back {plan.memories} memories ({plan.known} known already), "
        f"write {plan.files} files"
    )
    for name, value in _changes(plan, store).items():
        say(f"设置会变 / setting would change: {name} → {json.dumps(value, ensure_ascii=False)}")
    sys.stdout.write("要做吗？/ Go on? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes", "是", "要"}


def _changes(done: StoreRestored, store: BotStore) -> dict[str, object]:
    return to_put_back(done.settings, store.config, setting_defaults())


def _put_back(done: StoreRestored, store: BotStore) -> None:
    changes = _changes(done, store)
    if not changes:
        return
    unread = store.config_file.exists() and not store.config
    if unread or not store.config_file.parent.is_dir():
        say(f"设置没有放回，写不了 / settings not put back, cannot be written: {store.config_file}")
        return
    config = {**store.config, **with_changes(store.config, changes)}
    text = json.dumps(config, ensure_ascii=False, indent=2)
    replace_durably(store.config_file, text.encode("utf-8-sig"))
    say(f"放回的设置 / settings put back: {', '.join(changes)}")


def import_(args: argparse.Namespace, store: BotStore) -> int:
    outcome = asyncio.run(_imported(args, store))
    match outcome:
        case Imported():
            say(
                f"导入到“{outcome.scope}”：新记 {outcome.stored}，记得更牢 {outcome.reinforced}，"
                f"取代 {outcome.replaced}，早已有 {outcome.known}，没收下 {outcome.refused} 行 / "
                f"imported into {outcome.scope}: {outcome.stored} new, {outcome.reinforced} "
                f"stronger, {outcome.replaced} replaced, {outcome.known} known, "
                f"{outcome.refused} refused"
            )
            if outcome.redacted:
                say(f"隐去了一部分的 / partly hidden: {outcome.redacted}")
            if outcome.stopped_at:
                say(f"停在第 {outcome.stopped_at} 行 / stopped at line {outcome.stopped_at}")
            status = tell_lines(outcome.lines, outcome.refused, cut_short=outcome.cut_short)
            return PARTLY if outcome.stopped_at else status
        case NotTransferred():
            return fail(fault_text(outcome.fault, outcome.detail))
        case Rejected():
            return fail(
                f"没有这个域，要新建请加 --new / no such scope, --new makes one: {args.scope}"
            )


async def _imported(
    args: argparse.Namespace, store: BotStore
) -> Imported | NotTransferred | Rejected:
    settings = store.settings(privacy=args.privacy)
    with closing(LineFile(args.file)) as lines:
        engine = build_engine(store.paths, settings, version=plugin_version(), remembers=False)
        try:
            await engine.open()
            return await engine.service.import_for_owner(
                lines,
                args.scope,
                keep_trust=args.keep_trust,
                new=args.new,
                anyway=args.anyway,
            )
        finally:
            await engine.close()
