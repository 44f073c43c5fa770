"""``/memory scope``: which scope a conversation has, and giving it another one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from ...llm_memory import (
    ConversationId,
    ConversationKind,
    EngineClosed,
    LeftBehind,
    MapChange,
    NotAllowed,
    Refused,
    Usable,
)
from ...llm_memory.scopes.rules.map_edits import entry_of, with_entry, with_renamed
from ...llm_memory.scopes.rules.origins import is_no_stranger, named
from ...llm_memory.text.safe_text import safe
from ..turn.first_message import scope_line, tell
from .bring_command import bring, left_text
from .call import Call, Handler, admin
from .command_words import PUBLIC, scope_named
from .rebind_command import rebind
from .rename_command import rename
from .yes_command import yes

_OFF = frozenset({"off", "取消", "清除", "none"})
_NAME = 80
_MOST = 10
"""Conversations that a name may mean, as lines."""


async def scope(call: Call) -> str:
    """Without words, describe the scope; with a name, set it, which only admins may."""
    handler = _WORDS.get(call.split()[0].lower())
    return await (_set(call) if handler is None else handler(call.behind()))


async def _describe(call: Call) -> str:
    report = await call.service.describe(conversation_id=call.where)
    lines = [
        call.say("scope.id", id=call.where.umo),
        scope_line(call.plugin, report.resolution),
        call.say("status.visible", count=report.visible),
        call.say("scope.paste", id=call.where.map_key),
    ]
    if report.paused:
        lines.append(call.paused(report.paused))
    if report.mixed_history:
        lines.append(call.say("scope.mixed_history"))
    if not call.plugin.config.engine.scope_filter_enabled:
        lines.append(call.say("notice.scope_filter_off"))
    if report.damaged:
        lines.append(call.say("scope.damaged"))
    lines += [left_text(call.texts, one) for one in report.left]
    is_public = isinstance(report.resolution, Usable) and report.resolution.scope.is_public
    if report.strangers_in_public and is_public:
        lines.append(call.say("scope.strangers"))
    return "\n".join(lines)


_WORDS: Mapping[str, Handler] = {
    "": _describe,
    **dict.fromkeys(("confirm", "确认"), yes),
    **dict.fromkeys(("bring", "带来", "搬来"), bring),
    **dict.fromkeys(("rebind", "改绑", "换绑"), rebind),
    **dict.fromkeys(("rename", "改名", "重命名"), rename),
}


@admin
async def _set(call: Call) -> str:
    """This conversation's scope, or that of another one, which is named behind the scope."""
    word, who = call.split()
    if not who:
        return await set_scope(call, word)
    met, links = await call.service.conversations.met(), call.identity_links
    found, shown = named(who, met, links), safe(who)[:_NAME]
    if not found.places:
        code = "scope.never_private" if found.persons else "scope.unmet"
        return call.say(code, who=shown, name=safe(call.rest)[:_NAME])
    lines = [
        call.say("scope.which_line", scope=safe(word), id=safe(key), place=place_name(call, *there))
        for key, there in found.places.items()
    ]
    if len(lines) > 1 or len({links.get(one, one) for one in found.persons}) > 1:
        head = call.say("scope.which", who=shown)
        return "\n".join([head, *lines[:_MOST]])
    ((where, called),) = found.places.values()
    do = partial(set_scope, word=word, where=where, place=place_name(call, where, called))
    raw, scope = call.plugin.panel_map.read(), scope_named(word)
    lets_nobody_in = scope == PUBLIC or word.lower() in _OFF
    if lets_nobody_in or is_no_stranger(
        where, who, call.actor.person, met, lambda one: entry_of(raw, one) == scope
    ):
        return await do(call)
    deed = call.say("scope.deed", scope=safe(word))
    return call.ask("\n".join([call.say("scope.anyone", who=shown), *lines]), do, short=deed)


async def set_scope(
    call: Call, word: str, where: ConversationId | None = None, place: str = ""
) -> str:
    """Save the map with a conversation's entry changed, and go by it. Another one than this one,
    which ``place`` describes, is told."""
    where, here = where or call.where, call.say("scope.here")
    elsewhere, place = where.map_key != call.where.map_key, place or here
    name = None if word.lower() in _OFF else scope_named(word)
    service, panel_map = call.service, call.plugin.panel_map
    report = await service.describe(conversation_id=where)
    if isinstance(report.resolution, Refused):
        return scope_line(call.plugin, report.resolution)
    async with panel_map.changing:
        raw = panel_map.read()
        former = entry_of(raw, where)
        if former == name:
            same = "scope.set_none" if name is None else "scope.set_already"
            return call.say(same, scope=name or "", place=place)
        changed = with_entry(raw, where, name)
        await call.check_scope(changed, where)
        await panel_map.save(changed)
        change = await service.admin.change_map(changed, conversation_id=where, actor=call.actor)
    if isinstance(change, NotAllowed):
        return call.refused(change)
    said = _changed(call, change, name, place)
    if elsewhere:
        told = call.say("scope.told", change=_changed(call, change, name, here))
        await tell(call.plugin, where.umo, told)
    lines, left = [call.say("scope.done", change=said)], tuple[LeftBehind, ...]()
    before, after = change.before, change.after
    if isinstance(before, Usable) and isinstance(after, Usable) and before.scope != after.scope:
        scope = before.scope.name
        stays = "" if former is None else "scope.stays_unseen"
        stays = "scope.stays" if with_renamed(changed, scope, scope)[1] else stays
        stays = "scope.stays_public" if before.scope.is_public else stays
        lines += [call.say(stays, scope=scope)] if stays else []  # else the lines below tell of it
        with suppress(EngineClosed):  # the change is made, and not to be made again
            left = (await service.describe(conversation_id=where)).left
    if elsewhere:  # what stands in public is told above
        left = tuple(one for one in left if not one.remainder.source.is_public)
    lines += [left_text(call.texts, one, "status.left" if elsewhere else "") for one in left]
    back = call.say("scope.word_off") if former is None else safe(former)[:_NAME]
    back = f"{back} {where.map_key}" if elsewhere else back
    return "\n".join([*lines, call.say("scope.set_back", word=back)])


def place_name(call: Call, where: ConversationId, called: str) -> str:
    """A conversation as a person calls it."""
    kind = "private" if where.kind is ConversationKind.PRIVATE else "group"
    return call.say(f"scope.{kind}", name=safe(called)[:_NAME] or safe(where.map_key))


def _changed(call: Call, change: MapChange, name: str | None, place: str) -> str:
    """Who sees from now on what is said there."""
    after = change.after
    if name is None:
        return call.say("scope.set_off", place=place) + "\n" + scope_line(call.plugin, after)
    if isinstance(after, Usable) and after.scope.name == name:
        kind = "public" if after.scope.is_public else "private"
        return call.say(f"scope.set_{kind}", scope=name, count=change.sharing, place=place)
    return scope_line(call.plugin, after)
