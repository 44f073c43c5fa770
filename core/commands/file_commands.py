"""``/memory export``, ``import``, ``backup`` and ``restore``: memories, or the whole store with the
scope map and the settings, in files."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from ...llm_memory import Imported, ScopedMemoryError, find_backup, owned, restore_store
from ...llm_memory.cli.paths import setting_defaults
from ...llm_memory.models.transfer import StoreRestored
from ...llm_memory.text.refusal_words import line_words
from ...llm_memory.text.safe_text import cut, safe
from ...llm_memory.texts import Texts
from ...llm_memory.transfer.rules.carried_settings import to_put_back, with_changes
from ..config import MAP_KEY, NotSaved
from ..replies.outcome_text import error_text, place_text
from .call import Call, Reply

_SHOWN = 5
_RULES = 20
_WORDS = 1000
"""Characters of a file that rules."""
_ANYWAY = ("anyway", "仍要")


async def export(call: Call) -> str:
    """All memories that this conversation sees, into a file on the bot's machine."""
    done = call.done(await call.service.export(**call.by))
    held = tuple(f"{place_text(call.texts, name)} {n}" for name, n in done.by_scope.items())
    return call.say("transfer.exported", scopes=held or "-", name=done.name)


async def import_(call: Call) -> Reply:
    """The memories of a file into this conversation's scope: by an admin."""
    name, anyway = _named_file(call.rest)
    done = call.done(await call.service.import_(name, **call.by, anyway=anyway))
    return imported_lines(call.texts, done)


def _named_file(words: str) -> tuple[str, bool]:
    """The name of a file, and whether what was corrected since is wanted, too."""
    name, _, last = words.rpartition(" ")
    anyway = bool(name) and last.lower() in _ANYWAY
    return (name.strip(), True) if anyway else (words, False)


def imported_lines(texts: Texts, imported: Imported) -> list[str]:
    """What became of the lines, and why some were refused."""
    done = texts.listed(
        "transfer", stored=imported.stored, known=imported.known, refused=imported.refused
    )
    place, done = place_text(texts, imported.scope), done or texts.say("counts.nothing")
    shown = [texts.said(line_words(one)) for one in imported.lines[:_SHOWN]]
    refused = (one.rejected for one in imported.lines if one.rejected is not None)
    beside = texts.counted(
        "transfer",
        more=imported.refused - len(shown),
        redacted=imported.redacted,
        anyway=any(one.reason == "corrected" for one in refused),
        stopped=imported.stopped_at,
        cut_short=imported.cut_short and not imported.stopped_at,
    )
    return [texts.say("transfer.imported", place=place, done=done), *shown, *beside]


async def backup(call: Call) -> str:
    """Write the file, and say where it is and what to do with it. It holds all scopes."""
    name, held = await call.plugin.engine.back_up()
    held_words = call.texts.listed("counts", memories=held.memories, files=held.files)
    return call.say("moving.backup", held=held_words or call.say("common.none"), name=name)


async def restore(call: Call) -> Reply:
    """``<file>`` says what would change, and a yes does it. With ``anyway``, what was corrected
    since is restored too."""
    name, anyway = _named_file(call.rest)
    paths, counted = call.plugin.paths, call.texts.counted
    file = await asyncio.to_thread(find_backup, paths, name)
    plan = await asyncio.to_thread(restore_store, paths, file, anyway=anyway, dry=True)
    changes = await _changes(call, plan)
    if not plan.memories and not plan.files and not changes:
        return [call.say("moving.nothing"), *_beside(call.texts, plan)]
    # The bot will go by these words: they are read before they are restored.
    ruling = [(safe(place.lstrip("@")), cut(text, _WORDS)) for place, text in plan.ruling]
    lines = [
        *counted("moving", plan=plan.memories, plan_files=plan.files),
        *(call.say("moving.plan_ruling", place=of, text=text) for of, text in ruling[:_RULES]),
        *counted("moving", plan_more_ruling=len(ruling[_RULES:])),
        call.say("moving.plan_settings", names=tuple(changes)) if changes else "",
        await _opened(call, changes.get(MAP_KEY)),
        *_beside(call.texts, plan),
    ]
    do = partial(_restore, file=file, anyway=anyway)
    return call.ask(lines, do, short=call.say("moving.deed"))


async def _opened(call: Call, mapped: object) -> str:
    """The scopes that are here already, and that the map opens to other conversations."""
    held, former = (await call.plugin.engine.status()).by_scope, call.plugin.panel_map.read()
    new = mapped.items() if isinstance(mapped, dict) else ()
    scopes = [str(scope) for key, scope in new if key not in former and held.get(scope)]
    places = tuple(sorted({place_text(call.texts, cut(one)) for one in scopes}))
    return call.say("moving.plan_opens", count=len(scopes), scopes=places) if scopes else ""


async def _restore(call: Call, *, file: Path, anyway: bool) -> Reply:
    """Restore while the engine is closed, as the command line does."""
    plugin, said = call.plugin, list[str]()

    def put_back() -> StoreRestored:
        with owned(plugin.paths, version=plugin.version):
            return restore_store(plugin.paths, file, anyway=anyway)

    async def between() -> None:
        try:
            done = await asyncio.to_thread(put_back)
        except (ScopedMemoryError, OSError) as error:
            said.append(error_text(call.texts, error))
            return
        said.extend(call.texts.counted("moving", restored=done.memories, files=done.files))
        said.extend([*_beside(call.texts, done), *await _settings_put_back(call, done)])

    await plugin.reopen(between)
    return said or call.say("counts.nothing")


async def _settings_put_back(call: Call, done: StoreRestored) -> list[str]:
    panel = call.plugin.panel_map
    async with panel.changing:
        changes = await _changes(call, done)
        try:
            if changes:
                await panel.save(with_changes(panel.all(), changes))
        except NotSaved as error:
            return [call.say("moving.no_settings", why=error_text(call.texts, error))]
    return [call.say("moving.settings", names=tuple(changes))] if changes else []


async def _changes(call: Call, plan: StoreRestored) -> dict[str, object]:
    defaults = await asyncio.to_thread(setting_defaults)
    return to_put_back(plan.settings, call.plugin.panel_map.all(), defaults)


def _beside(texts: Texts, done: StoreRestored) -> list[str]:
    """What is left as it is, and why."""
    left = {"corrected": done.corrected, "differing": len(done.differing), "refused": done.refused}
    return texts.counted("moving", **left) + texts.counted("transfer", cut_short=done.cut_short)
