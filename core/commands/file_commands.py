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
    NotTransferred,
    Reason,
    Refused,
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
from ...llm_memory.text.safe_text import cut, safe
from ...llm_memory.texts import Texts
from ...llm_memory.transfer.rules.carried_settings import to_put_back, with_changes
from ..host.panel_map import MAP_KEY, NotSaved
from ..plugin_names import ROOT
from ..replies.memory_line import place_text
from ..replies.outcome_text import error_text
from .call import Call

_SHOWN = 5
_ANYWAY = ("anyway", "仍要")


async def export(call: Call) -> str:
    """All memories that this conversation sees, into a file on the bot's machine."""
    outcome = await call.service.export(conversation_id=call.where, actor=call.actor)
    match outcome:
        case Exported(name):
            by_scope = outcome.by_scope.items()
            counted = (f"{place_text(call.texts, scope)} {count}" for scope, count in by_scope)
            scopes = call.say("common.and").join(counted) or "-"
            return call.say("transfer.exported", scopes=scopes, name=name)
        case Refused(Reason.NOT_ALLOWED):
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


def _why_not(call: Call, what: str, outcome: NotTransferred | Refused) -> str:
    if not isinstance(outcome, NotTransferred):
        return call.refused(outcome)
    why = fault_text(call.texts, outcome.fault, outcome.detail)
    return call.say(f"transfer.no_{what}", why=why)


def imported_text(texts: Texts, imported: Imported) -> str:
    """What became of the lines, and why some were refused."""
    say = texts.say
    done = texts.listed(
        "transfer",
        stored=imported.stored,
        reinforced=imported.reinforced,
        replaced=imported.replaced,
        known=imported.known,
        refused=imported.refused,
    )
    place = place_text(texts, imported.scope)
    lines = [say("transfer.imported", place=place, done=done or say("counts.nothing"))]
    lines += texts.counted("transfer", redacted=imported.redacted, passed_by=imported.passed_by)
    lines += [texts.said(line_words(refused)) for refused in imported.lines[:_SHOWN]]
    rejected = [one.rejected for one in imported.lines if one.rejected is not None]
    if any(one.reason is Reason.CORRECTED for one in rejected):
        lines.append(say("transfer.anyway"))
    more = imported.refused - min(len(imported.lines), _SHOWN)
    lines += texts.counted("transfer", more=max(more, 0))
    if imported.stopped_at:
        lines.append(say("transfer.stopped", line=imported.stopped_at))
    elif imported.cut_short:
        lines.append(say("transfer.cut_short"))
    return "\n".join(lines)


def fault_text(texts: Texts, fault: TransferFault, detail: str) -> str:
    """Why a file was not taken or not written."""
    return texts.say(f"transfer_fault.{fault}", detail=cut(detail, 200))


_SOME = 10
_RULES = 20
_WORDS = 1000
"""Characters of a file that rules."""
_LINKS = "identity_links"


async def backup(call: Call) -> str:
    """Write the file, and say where it is and what to do with it. It holds all scopes."""
    try:
        name, held = await call.engine.back_up()
    except TransferFailed as error:
        return call.say("moving.no_backup", why=_why(call, error))
    held_words = call.texts.listed("counts", memories=held.memories, files=held.files)
    return call.say("moving.backup", held=held_words or call.say("common.none"), name=name)


def moving(call: Call) -> str:
    """How a bot moves; with the folder of the machine where no others read it."""
    lines = [call.say("help.moving")]
    if call.where.kind is ConversationKind.PRIVATE:
        python, folder = shlex.quote(sys.executable), shlex.quote(str(ROOT))
        line = f"cd {folder} && {python} -m llm_memory restore"
        lines.append(call.say("help.moving_line", line=line))
    return "\n".join(lines)


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
    lines = call.texts.counted(
        "moving", plan=plan.memories, plan_known=plan.known, plan_files=plan.files
    )
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
        said[:] = call.texts.counted("moving", restored=done.memories, files=done.files)
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
        table = value if isinstance(value, dict) else {}
        stands = call.plugin.panel_map.table(name)
        new = {str(key): str(one) for key, one in table.items() if key not in stands}
        if name == MAP_KEY:
            lines += await _scope_lines(call, new)
        elif name == _LINKS:
            persons = _by_value(table)
            lines += [
                call.say("moving.plan_link", person=cut(one), **_some(call, persons[one]))
                for one in sorted(set(new.values()))
            ]
        else:
            text = cut(json.dumps(new or value, ensure_ascii=False))
            lines.append(call.say("moving.plan_setting", name=name, value=text))
    return lines


def _ruling_lines(call: Call, plan: StoreRestored) -> list[str]:
    """The bot will go by these words: they are read before they are restored."""
    lines = [
        call.say(
            "moving.plan_ruling", place=safe(place.lstrip("@")), text=safe(preview(text, _WORDS))
        )
        for place, text in plan.ruling[:_RULES]
    ]
    return lines + call.texts.counted("moving", plan_more_ruling=len(plan.ruling[_RULES:]))


async def _scope_lines(call: Call, new: dict[str, str]) -> list[str]:
    """Every scope that the new entries of the map open, with what they open it to."""
    standing = (await call.engine.status()).by_scope
    lines = []
    for scope, keys in sorted(_by_value(new).items(), key=lambda one: one[0] not in standing):
        there, some = standing.get(scope, 0), _some(call, keys)
        code = "moving.plan_scope_existing" if there else "moving.plan_scope_new"
        place = place_text(call.texts, cut(scope))
        lines.append(call.say(code, scope=place, memories=there, **some))
    return lines


def _by_value(table: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in table.items():
        found.setdefault(str(value), []).append(key)
    return found


def _some(call: Call, names: list[str]) -> dict[str, object]:
    """How many there are, and the first of them."""
    shown = call.say("common.and").join(names[:_SOME])
    return {"count": len(names), "names": safe(shown + ("…" if names[_SOME:] else ""))}


def _beside(call: Call, done: StoreRestored) -> list[str]:
    """What is left as it is, and why."""
    differing = len(done.differing)
    lines = call.texts.counted(
        "moving", corrected=done.corrected, differing=differing, refused=done.refused
    )
    return [*lines, call.say("transfer.cut_short")] if done.cut_short else lines


def _why(call: Call, error: ScopedMemoryError | OSError) -> str:
    if isinstance(error, TransferFailed):
        return fault_text(call.texts, TransferFault(error.code), error.detail)
    if isinstance(error, OSError):
        return cut(str(error), 200)
    return error_text(call.texts, error)
