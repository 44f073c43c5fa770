"""``/memory scope bring``, ``rename`` and ``rebind``: what goes along to another scope, or under
another name of a scope, a chat or a bot account."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from astrbot.api import logger

from ...llm_memory import Brought, EngineClosed, EngineOff, Refused, Remainder
from ...llm_memory.scopes.rules.rebinding import chat_key
from ...llm_memory.scopes.rules.scope_map import canonical_key, with_renamed
from ...llm_memory.text.normalising import clean
from ...llm_memory.text.safe_text import safe
from ...llm_memory.texts import Texts
from ..config import MAP_KEY, NotSaved
from ..plugin_context import PluginContext
from ..replies.outcome_text import ENDS, error_text, place_text, refusal_text
from .call import Call, Reply
from .command_words import PUBLIC, scope_named

_ARROWS = str.maketrans(dict.fromkeys("→⇒", " "))


async def bring(call: Call, *, names: Sequence[str] | None = None) -> Reply:
    """What this conversation left in former scopes, or that of the former scopes that are named.
    Where others see the target, too, it is asked about first: ``names`` with it are a yes."""
    names = call.rest.split() if names is None else names
    done = await call.service.bring(names, conversation_id=call.where, actor=call.actor)
    if isinstance(done, Refused):
        if not done.left:
            raise call.refusal(done)
        lines = [left_text(call.texts, one, "scope.shared") for one in done.left]
        agreed = partial(bring, names=[*names, *(one.target.name for one in done.left)])
        return call.ask(lines, agreed, short=call.say("scope.bring"))
    lines = [line for one in done for line in _brought(call.texts, one)]
    return lines or call.say("scope.nothing_left")


def _brought(texts: Texts, one: Brought, entries: int = 0) -> list[str]:
    """What was brought, and what stayed. ``entries`` of the map that were given another scope: the
    whole scope has another name."""
    what = texts.listed("counts", entries=entries, memories=one.memories, turns=one.turns)
    code, target = "renamed" if entries else "brought", place_text(texts, one.target)
    what = what or texts.say("counts.nothing")
    said = texts.say(f"scope.{code}", source=one.source, target=target, what=what)
    return [said, *texts.counted("rebind", left=one.left)]


def left_text(texts: Texts, left: Remainder, code: str = "") -> str:
    """What a conversation left in a former scope, and what brings it along: to itself, else by
    ``code``. What lies in public everybody still sees."""
    code = code or ("scope.left_public" if left.source.is_public else "scope.left")
    where = safe(min(left.conversations, default=left.source.name))
    what = texts.listed("counts", memories=left.memories, turns=left.turns)
    return texts.say(code, id=where, target=place_text(texts, left.target.name), what=what)


async def rename(call: Call, *, agreed: str = "") -> Reply:
    """``<old> <new>``. What cannot be told apart again is asked about first: the words that were
    ``agreed`` to with a yes."""
    call.for_admins()
    words, service, panel_map = agreed or call.rest, call.service, call.plugin.panel_map
    names = [scope_named(name) for name in words.translate(_ARROWS).split()]
    if len(names) != 2 or PUBLIC in names or names[0] == names[1]:
        return call.say("scope.rename_usage")
    old, new = names
    await call.check_scope({call.where.map_key: new}, call.where)
    async with panel_map.changing:
        changed, moved = with_renamed(panel_map.read(), old, new)
        exists = call.done(await service.plan_rename(old, new, moved))
        if exists and moved and not agreed:
            asked = call.say("scope.merges", source=old, target=new, count=len(moved))
            short = call.say("scope.merge", source=old, target=new)
            return call.ask([asked], partial(rename, agreed=words), short=short)
        if moved:
            await panel_map.save({MAP_KEY: changed})
        done = await service.rename(old, new, changed, moved, **call.by)
    return _brought(call.texts, call.done(done), len(moved))


async def rebind(call: Call) -> Reply:
    """A chat or a bot account that goes on under another name keeps all that stands under its
    former one: ``<old> <new>``, or ``<old>`` for this conversation. A platform that says so itself
    needs no command."""
    call.for_admins()
    names = [canonical_key(clean(name)) for name in call.rest.translate(_ARROWS).split()]
    if not 1 <= len(names) <= 2:
        return call.say("rebind.usage")
    old, new = (*names, chat_key(call.where))[:2]
    return await _rebind(call.plugin, old, new)


async def rebind_moved(plugin: PluginContext, old: str, new: str) -> None:
    """The platform says that a chat goes on under another id."""
    try:
        said = await _rebind(plugin, old, new, told=True)
    except (EngineClosed, EngineOff):
        return
    except ENDS as error:
        said = error_text(plugin.texts, error)
    logger.warning(plugin.texts.say("rebind.platform", old=old, new=new, result=said))


async def _rebind(plugin: PluginContext, old: str, new: str, *, told: bool = False) -> str:
    service, panel, texts = plugin.service, plugin.panel_map, plugin.texts
    async with panel.changing:
        raw, back = panel.read(), service.is_rebound(new, old)
        changed = await service.rebind(old, new, raw, told=told)
        if isinstance(changed, Refused):
            return refusal_text(texts, "", changed)
        try:
            if changed != raw:
                await panel.save({MAP_KEY: changed})
        except NotSaved:
            if not (told or back):  # the platform will not say it again: it holds all the same
                await service.apart(old, new)
            raise
        await service.go_by(changed)
        if back:
            await service.apart(new, old)
    return texts.say("rebind.done", old=old, new=new)
