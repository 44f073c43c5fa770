"""``export``, ``restore``, ``import``."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial

from ..composition.engine import build_engine
from ..composition.export_restore import export_store, owned, restore_store
from ..models.data_models import Refused
from ..models.settings import EngineSettings
from ..models.transfer import Imported, RefusedLine, StoreRestored
from ..service.paths import EnginePaths, local_now
from ..storage.files import replace_durably
from ..text.refusal_words import line_words
from ..texts import at
from ..transfer.line_files import LineFile
from ..transfer.rules.carried_settings import carried, to_put_back, with_changes
from ..transfer.store_zip import open_lines
from .messages import DONE, PARTLY, Refusal, agrees, fail, say, say_counts, texts, words
from .paths import BotStore, plugin_version, setting_defaults


def export(args: argparse.Namespace, store: BotStore) -> int:
    paths, now = store.paths, local_now()
    target = args.file or paths.data / "exports" / f"store-{now:%Y%m%d-%H%M%S}.jsonl"
    if target.exists():
        raise Refusal("store.exists", path=target)
    scopes = _scopes(args, paths)
    with owned(paths, version=plugin_version()):
        done, left_out = export_store(
            paths,
            target,
            scopes=scopes,
            now=now,
            version=plugin_version(),
            settings=carried(store.config),
        )
    held = texts().listed("counts", memories=done.memories, files=done.files)
    say("store.exported", held=held or words("common.none"), path=target)
    for path, reason in left_out:
        say("store.left_out", path=path, reason=reason)
    # What is no Markdown is no memory.
    return PARTLY if any(reason != "not_markdown" for _, reason in left_out) else DONE


def _scopes(args: argparse.Namespace, paths: EnginePaths) -> list[str] | None:
    named: list[str] | None = args.scope
    folders = {folder.name for folder in (paths.memory / "scopes").iterdir()}
    for name in named or ():
        if name not in folders:
            raise Refusal("store.no_scope", scope=name)
    return named


def restore(args: argparse.Namespace, store: BotStore) -> int:
    with owned(store.paths, version=plugin_version()):
        do = partial(restore_store, store.paths, args.file, scopes=args.scope, anyway=args.anyway)
        if sys.stdin.isatty() and not args.yes and not _agreed(do(dry=True), store):
            raise Refusal("cli.nothing_changed")
        done = do()
        whole = _put_back(done, store)
    say_counts("moving", restored=done.memories, files=done.files)
    if done.corrected:
        say("store.corrected", count=done.corrected)
    for path in done.differing:
        say("store.differing", path=path)
    code = tell_lines(done.lines, done.refused, cut_short=done.cut_short)
    return code if whole else PARTLY


def _agreed(plan: StoreRestored, store: BotStore) -> bool:
    say_counts("moving", plan=plan.memories, plan_files=plan.files)
    for name, value in _changes(plan, store).items():
        say("store.would_set", name=name, value=json.dumps(value, ensure_ascii=False))
    return agrees("store.go_on")


def _changes(done: StoreRestored, store: BotStore) -> dict[str, object]:
    return to_put_back(done.settings, store.config, setting_defaults())


def _put_back(done: StoreRestored, store: BotStore) -> bool:
    """Put the settings back. Returns False where they cannot be written."""
    changes = _changes(done, store)
    if not changes:
        return True
    unread = store.config_file.exists() and not store.config
    if unread or not store.config_file.parent.is_dir():
        say("store.settings_kept", path=store.config_file)
        return False
    config = {**store.config, **with_changes(store.config, changes)}
    text = json.dumps(config, ensure_ascii=False, indent=2)
    replace_durably(store.config_file, text.encode("utf-8-sig"))
    say("store.settings_back", names=", ".join(changes))
    return True


def import_(args: argparse.Namespace, store: BotStore) -> int:
    settings = store.settings(privacy=args.privacy)
    with closing(open_lines(args.file, store.paths.data)) as lines:
        outcome = asyncio.run(
            imported(
                store.paths,
                settings,
                lines,
                args.scope,
                keep_trust=args.keep_trust,
                new=args.new,
                anyway=args.anyway,
            )
        )
    match outcome:
        case Imported():
            say_counts(
                "transfer",
                stored=outcome.stored,
                known=outcome.known,
                refused=outcome.refused,
            )
            if outcome.redacted:
                say("store.redacted", count=outcome.redacted)
            if outcome.stopped_at:
                say("store.stopped", line=outcome.stopped_at)
            status = tell_lines(outcome.lines, outcome.refused, cut_short=outcome.cut_short)
            return PARTLY if outcome.stopped_at else status
        case Refused():
            return fail("store.new_scope", scope=args.scope)


async def imported(
    paths: EnginePaths, settings: EngineSettings, lines: LineFile, scope: str, **terms: bool
) -> Imported | Refused:
    """Take a file into a scope of a store that no other program has open. ``terms``: see
    ``import_for_owner``. Raises EngineOff."""
    async with build_engine(paths, settings, version=plugin_version(), remembers=False) as engine:
        return await engine.service.import_for_owner(lines, scope, **terms)


def tell_fault(fault: str, detail: str) -> int:
    """Print why a file was not taken or not written. Returns the exit code."""
    if fault == "not_found":
        return fail(at(detail, "store.not_found"))
    code = f"transfer_fault.{fault}"
    return fail(code, detail=detail) if texts().knows(code) else fail("cli.not_done", why=fault)


def tell_lines(lines: Sequence[RefusedLine], refused: int, *, cut_short: bool) -> int:
    """Say which lines were refused, and why; the exit code."""
    for line in lines:
        say(line_words(line))
    if more := refused - len(lines):
        say("store.more_refused", count=more)
    if cut_short:
        say("transfer.cut_short")
    return PARTLY if refused or cut_short else DONE
