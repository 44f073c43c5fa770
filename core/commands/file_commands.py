"""``/memory export``, ``import``, ``backup`` and ``restore``: memories in files; the whole
store in one, with the scope map and the settings."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from functools import partial
from pathlib import Path

from astrbot.api import logger

from ...llm_memory import (
    Exported,
    Imported,
    NotAllowed,
    NotTransferred,
    Rejected,
    RejectReason,
    ScopedMemoryError,
    TransferFault,
    find_backup,
    owned,
    restore_store,
)
from ...llm_memory.cli.paths import setting_defaults
from ...llm_memory.errors import TransferFailed
from ...llm_memory.models.conversation import ConversationKind
from ...llm_memory.models.transfer import StoreRestored
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.refusal_words import line_words
from ...llm_memory.text.safe_text import safe
from ...llm_memory.texts import Texts
from ...llm_memory.transfer.rules.carried_settings import to_put_back, with_changes
from ..host.panel_map import MAP_KEY, NotSaved
from ..plugin_names import ROOT
from ..replies.outcome_text import error_text
from .call import Call, admin, no_words

_SHOWN = 5
_DETAIL = 120
_ANYWAY = ("anyway", "仍要")


@no_words
async def export(call: Call) -> str:
    """All memories that this conversation sees, into a file on the bot's machine."""
    outcome = await call.service.export(conversation_id=call.where, actor=call.actor)
    match outcome:
        case Exported(name):
            counted = (f"{scope} {n}" for scope, n in outcome.by_scope.items())
            scopes = call.say("common.and").join(counted) or "-"
            return call.say("transfer.exported", count=outcome.count, scopes=scopes, name=name)
        case NotAllowed():
            return call.say("transfer.for_the_owner")
    return _why_not(call, "export", outcome)


async def import_(call: Call) -> str:
    """The memories of a file into this conversation's scope: by an admin."""
    name, anyway = named_file(call.rest)
    if not name:
        return call.say("transfer.usage")
    outcome = await call.service.import_(
        name, conversation_id=call.where, actor=call.actor, anyway=anyway
    )
    match outcome:
        case Imported():
            return imported_text(call.texts, outcome)
    return _why_not(call, "import", outcome)


def named_file(words: str) -> tuple[str, bool]:
    """The name of a file, and whether what was corrected since is wanted, too."""
    name, _, last = words.rpartition(" ")
    anyway = bool(name) and last.lower() in _ANYWAY
    return (name.strip(), True) if anyway else (words, False)


def _why_not(call: Call, what: str, outcome: NotTransferred | NotAllowed | Rejected) -> str:
    if not isinstance(outcome, NotTransferred):
        return call.refused(outcome)
    why = fault_text(call.texts, outcome.fault, outcome.detail)
    return call.say(f"transfer.no_{what}", why=why)


def imported_text(texts: Texts, imported: Imported) -> str:
    """What became of the lines, and why some were refused."""
    say = texts.say
    head = say(
        "transfer.imported",
        scope=imported.scope,
        stored=imported.stored,
        reinforced=imported.reinforced,
        replaced=imported.replaced,
        known=imported.known,
        refused=imported.refused,
    )
    beside = texts.counted(
        {"transfer.redacted": imported.redacted, "transfer.passed_by": imported.passed_by}
    )
    lines = [head, *beside]
    lines += [texts.said(line_words(refused)) for refused in imported.lines[:_SHOWN]]
    rejected = [one.rejected for one in imported.lines if one.rejected is not None]
    if any(one.reason is RejectReason.CORRECTED for one in rejected):
        lines.append(say("transfer.anyway"))
    more = imported.refused - min(len(imported.lines), _SHOWN)
    lines += texts.counted({"transfer.more": max(more, 0)})
    if imported.stopped_at:
        lines.append(say("transfer.stopped", line=imported.stopped_at))
    elif imported.cut_short:
        lines.append(say("transfer.cut_short"))
    return "\n".join(lines)


def fault_text(texts: Texts, fault: TransferFault, detail: str) -> str:
    """Why a file was not taken or not written."""
    return texts.say(f"transfer_fault.{fault}", detail=safe(detail)[:_DETAIL])


_SOME = 10
_RULES = 20
_WORDS = 1000
"""Characters of a file that rules."""
_LINKS = "identity_links"
_VALUE = 60
_REASON = 200


@admin
@no_words
async def backup(call: Call) -> str:
    """Write the file, and say where it is and what to do with it. It holds all scopes."""
    try:
        name, held = await call.engine.back_up()
    except TransferFailed as error:
        return call.say("moving.no_backup", why=_why(call, error))
    return call.say("moving.backup", memories=held.memories, files=held.files, name=name)


def moving(call: Call) -> str:
    """How a bot moves; with the folder of the machine where no others read it."""
    lines = [call.say("help.moving")]
    if call.where.kind is ConversationKind.PRIVATE:
        python, folder = shlex.quote(sys.executable), shlex.quote(str(ROOT))
        line = f"cd {folder} && {python} -m llm_memory restore"
        lines.append(call.say("help.moving_line", line=line))
    return "\n".join(lines)


@admin
async def restore(call: Call) -> str:
    """``<file>`` shows what would change, and a yes does it. With ``anyway``, what was corrected
    since is restored too."""
    name, anyway = named_file(call.rest)
    if not name:
        return call.say("moving.usage")
    paths = call.plugin.paths
    try:
        file = await asyncio.to_thread(find_backup, paths, name)
        plan = await asyncio.to_thread(restore_store, paths, file, anyway=anyway, dry=True)
    except TransferFailed as error:
        return call.say("moving.no_restore", why=_why(call, error))
    changes = await _changes(call, plan)
    if not plan.memories and not plan.files and not changes:
        return "\n".join([call.say("moving.nothing"), *_beside(call, plan)])
    do = partial(_restore, file=file, anyway=anyway)
    lines = [call.say("moving.plan", memories=plan.memories)]
    lines += call.texts.counted({"moving.plan_known": plan.known, "moving.plan_files": plan.files})
    lines += _ruling_lines(call, plan) + await _setting_lines(call, changes)
    lines += _beside(call, plan)
    return call.ask("\n".join(lines), do, short=call.say("moving.deed"))


async def _restore(call: Call, file: Path, *, anyway: bool) -> str:
    """Restore while the engine is closed, as the command line does."""
    plugin, said = call.plugin, [call.say("moving.no_restore", why="-")]

    def put_back() -> StoreRestored:
        with owned(plugin.paths, version=plugin.version):
            return restore_store(plugin.paths, file, anyway=anyway)

    async def between() -> None:
        try:
            done = await asyncio.to_thread(put_back)
        except (ScopedMemoryError, OSError) as error:
            if not isinstance(error, TransferFailed):
                logger.exception(call.say("log.command_failed"))
            said[:] = [call.say("moving.no_restore", why=_why(call, error))]
            return
        said[:] = [call.say("moving.restored", memories=done.memories, files=done.files)]
        said.extend([*_beside(call, done), *await _settings_put_back(call, done)])

    await plugin.reopen(between)
    return "\n".join(said)


async def _settings_put_back(call: Call, done: StoreRestored) -> list[str]:
    panel = call.plugin.panel_map
    async with panel.changing:
        changes = await _changes(call, done)
        if not changes:
            return []
        try:
            await panel.save_all(with_changes(panel.all(), changes))
        except NotSaved as error:
            return [call.say("moving.no_settings", why=error_text(call.texts, error))]
    return [call.say("moving.settings", names=call.say("common.and").join(changes))]


async def _changes(call: Call, plan: StoreRestored) -> dict[str, object]:
    defaults = await asyncio.to_thread(setting_defaults)
    return to_put_back(plan.settings, call.plugin.panel_map.all(), defaults)


async def _setting_lines(call: Call, changes: dict[str, object]) -> list[str]:
    lines = []
    for name, value in changes.items():
        if not isinstance(value, dict):
            text = safe(json.dumps(value, ensure_ascii=False))[:_VALUE]
            lines.append(call.say("moving.plan_setting", name=name, value=text))
            continue
        stands = call.plugin.panel_map.table(name)
        new = {str(key): str(one) for key, one in value.items() if key not in stands}
        if name == MAP_KEY:
            lines += await _scope_lines(call, new)
        elif name == _LINKS:
            lines += _link_lines(call, new, {str(key): str(one) for key, one in value.items()})
        else:
            shown = _some(call, [f"{key} → {one}" for key, one in new.items()])
            lines.append(call.say("moving.plan_table", name=name, new=shown))
    return lines


def _ruling_lines(call: Call, plan: StoreRestored) -> list[str]:
    """The bot will go by these words: they are read before they are restored."""
    lines = [
        call.say(
            "moving.plan_ruling", place=safe(place.lstrip("@")), text=safe(preview(text, _WORDS))
        )
        for place, text in plan.ruling[:_RULES]
    ]
    return lines + call.texts.counted({"moving.plan_more_ruling": len(plan.ruling[_RULES:])})


async def _scope_lines(call: Call, new: dict[str, str]) -> list[str]:
    """Every scope that the new entries of the map open, with what they open it to."""
    standing = (await call.engine.status()).by_scope
    lines = []
    for scope in sorted(set(new.values()), key=lambda name: (name not in standing, name)):
        keys = [f"{key} → {scope}" for key, value in new.items() if value == scope]
        some, there = {"count": len(keys), "keys": _some(call, keys)}, standing.get(scope, 0)
        code = "moving.plan_scope_existing" if there else "moving.plan_scope_new"
        lines.append(call.say(code, scope=safe(scope)[:_VALUE], memories=there, **some))
    return lines


def _link_lines(call: Call, new: dict[str, str], all_of_them: dict[str, str]) -> list[str]:
    """Every person who would have more accounts."""
    lines = []
    for person in sorted(set(new.values())):
        ids = [one for one, name in all_of_them.items() if name == person]
        name, some = safe(person)[:_VALUE], _some(call, ids)
        lines.append(call.say("moving.plan_link", person=name, count=len(ids), ids=some))
    return lines


def _some(call: Call, texts: list[str]) -> str:
    shown = call.say("common.and").join(texts[:_SOME])
    return safe(shown + ("…" if len(texts) > _SOME else ""))


def _beside(call: Call, done: StoreRestored) -> list[str]:
    """What is left as it is, and why."""
    lines = call.texts.counted(
        {
            "moving.corrected": done.corrected,
            "moving.differing": len(done.differing),
            "moving.refused": done.refused,
        }
    )
    return [*lines, call.say("transfer.cut_short")] if done.cut_short else lines


def _why(call: Call, error: ScopedMemoryError | OSError) -> str:
    if isinstance(error, TransferFailed):
        return fault_text(call.texts, TransferFault(error.code), error.detail)
    if isinstance(error, OSError):
        return safe(str(error))[:_REASON]
    return error_text(call.texts, error)
