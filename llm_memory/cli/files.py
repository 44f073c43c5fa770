"""``export``, ``restore``, ``import``."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Final

from ..composition.engine import build_engine
from ..composition.export_restore import export_store, owned, restore_store
from ..composition.paths import EnginePaths, local_now
from ..models.data_models import Rejected
from ..models.said import Said
from ..models.transfer import Imported, NotTransferred, RefusedLine, StoreRestored, TransferFault
from ..storage.files import replace_durably
from ..transfer.line_files import LineFile
from ..transfer.rules.carried_settings import carried, to_put_back, with_changes
from .messages import DONE, PARTLY, Refusal, agrees, fail, say, say_value, words
from .paths import BotStore, plugin_version, setting_defaults

_FAULTS: Final[dict[str, Said]] = {
    TransferFault.NOT_FOUND: Said("没有这个文件：{}", "no such file: {}"),
    TransferFault.NOT_A_FILE: Said(
        "不是普通文件（链接也不行）：{}", "not a plain file (a link is not allowed either): {}"
    ),
    TransferFault.UNREADABLE: Said("读不了：{}", "cannot be read: {}"),
    TransferFault.NO_HEADER: Said(
        "第 1 行不是 scoped-memory 的文件头，不是导出的文件",
        "line 1 is not the header of a scoped-memory file, so this is not an exported file",
    ),
    TransferFault.NEWER: Said(
        "是更新的版本导出的，请先升级插件：{}",
        "it was exported by a newer version, upgrade the plugin first: {}",
    ),
    TransferFault.NOT_WRITTEN: Said("没能写入磁盘：{}", "could not be written to disk: {}"),
}
_SAID_AFTER = 10_000
"""Lines."""


def export(args: argparse.Namespace, store: BotStore) -> int:
    paths, now = store.paths, local_now()
    target = args.file or paths.data / "exports" / f"store-{now:%Y%m%d-%H%M%S}.jsonl"
    if target.exists():
        raise Refusal(f"已经有这个文件：{target}", f"this file exists: {target}")
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
    memories, files = done.memories, done.files
    zh, en = (
        f"已导出 {memories} 条记忆、{files} 个文件",
        f"exported {memories} memories, {files} files",
    )
    say_value(zh, en, target)
    for left in done.left_out:
        say_value("没有带上", "left out", f"{left.place}/{left.path} ({left.reason})")
    # What is no Markdown is no memory.
    return PARTLY if any(left.reason != "not_markdown" for left in done.left_out) else DONE


def _scopes(args: argparse.Namespace, paths: EnginePaths) -> list[str] | None:
    named: list[str] | None = args.scope
    folders = {folder.name for folder in (paths.memory / "scopes").iterdir()}
    for name in named or ():
        if name not in folders:
            raise Refusal(f"没有这个域：{name}", f"no such scope: {name}")
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
            raise Refusal("什么也没有改", "nothing was changed")
        done = do(progress=progress)
        whole = _put_back(done, store)
    say(
        f"放回 {done.memories} 条记忆（早已有 {done.known} 条），写了 {done.files} 个文件"
        f"（{done.same} 个原样已在）",
        f"restored {done.memories} memories ({done.known} known already), wrote {done.files} files "
        f"({done.same} there already)",
    )
    if done.corrected:
        say(
            f"忘掉、改过、移走的 {done.corrected} 条没有放回，要的话加 --anyway",
            f"{done.corrected} were forgotten, edited or moved away: left out, see --anyway",
        )
    for scope, path in done.differing:
        zh, en = (
            "已有另一个样子，没有动，缺的记忆补在后面",
            "differs and stays, missing memories added",
        )
        say_value(zh, en, f"{scope}/{path}")
    code = tell_lines(done.lines, done.refused, cut_short=done.cut_short)
    return code if whole else PARTLY


def _agreed(plan: StoreRestored, store: BotStore) -> bool:
    say(
        f"会放回 {plan.memories} 条记忆（早已有 {plan.known} 条），写 {plan.files} 个文件",
        f"would put back {plan.memories} memories ({plan.known} known already), write {plan.files} "
        "files",
    )
    for name, value in _changes(plan, store).items():
        change = f"{name} → {json.dumps(value, ensure_ascii=False)}"
        say_value("设置会变", "setting would change", change)
    return agrees("要做吗？", "Go on?")


def _changes(done: StoreRestored, store: BotStore) -> dict[str, object]:
    return to_put_back(done.settings, store.config, setting_defaults())


def _put_back(done: StoreRestored, store: BotStore) -> bool:
    """Put the settings back. Returns False where they cannot be written."""
    changes = _changes(done, store)
    if not changes:
        return True
    unread = store.config_file.exists() and not store.config
    if unread or not store.config_file.parent.is_dir():
        zh, en = "设置没有放回，写不了", "settings not put back, cannot be written"
        say_value(zh, en, store.config_file)
        return False
    config = {**store.config, **with_changes(store.config, changes)}
    text = json.dumps(config, ensure_ascii=False, indent=2)
    replace_durably(store.config_file, text.encode("utf-8-sig"))
    say_value("放回的设置", "settings put back", ", ".join(changes))
    return True


def import_(args: argparse.Namespace, store: BotStore) -> int:
    outcome = asyncio.run(_imported(args, store))
    match outcome:
        case Imported():
            new, stronger, replaced = outcome.stored, outcome.reinforced, outcome.replaced
            say(
                f"导入到“{outcome.scope}”：新记 {new}，记得更牢 {stronger}，取代 {replaced}，"
                f"早已有 {outcome.known}，没收下 {outcome.refused} 行",
                f"imported into {outcome.scope}: {new} new, {stronger} stronger, {replaced} "
                f"replaced, {outcome.known} known, {outcome.refused} refused",
            )
            if outcome.redacted:
                say_value("隐去了一部分的", "partly hidden", outcome.redacted)
            if stopped := outcome.stopped_at:
                say(f"停在第 {stopped} 行", f"stopped at line {stopped}")
            status = tell_lines(outcome.lines, outcome.refused, cut_short=outcome.cut_short)
            return PARTLY if outcome.stopped_at else status
        case NotTransferred():
            return fail(fault_text(outcome.fault, outcome.detail))
        case Rejected():
            scope = args.scope
            return fail(
                f"没有这个域，要新建请加 --new：{scope}", f"no such scope, --new makes one: {scope}"
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


def fault_text(code: str, detail: str) -> str:
    """Why a file was not taken or not written."""
    return words(_FAULTS.get(code, Said(f"{code}: {{}}", f"{code}: {{}}"))).format(detail)


def tell_lines(lines: Sequence[RefusedLine], refused: int, *, cut_short: bool) -> int:
    """Say which lines were refused, and why; the exit code."""
    for line in lines:
        why = line.rejected.reason if line.rejected else line.fault
        detail = f" ({line.detail})" if line.detail else ""
        say_value(f"第 {line.number} 行没有收下", f"line {line.number} refused", f"{why}{detail}")
    if more := refused - len(lines):
        say(f"还有 {more} 行没有收下", f"{more} more lines refused")
    if cut_short:
        say("文件没有最后一行，像是没有写完或没有复制完", "the file has no last line: cut short?")
    return PARTLY if refused or cut_short else DONE
