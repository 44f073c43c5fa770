"""``/memory scope`` and ``join``: which scope a conversation has, and giving it another one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from time import monotonic

from ...llm_memory import ConversationId, ConversationKind, Resolution
from ...llm_memory.models.passages import is_private_chat
from ...llm_memory.models.scope import is_mapped_name
from ...llm_memory.scopes.rules.origins import named, places_of
from ...llm_memory.scopes.rules.scope_map import entry_of, near_name, with_entry, with_renamed
from ...llm_memory.scopes.rules.scope_resolution import ids_of
from ...llm_memory.text.safe_text import cut, safe
from ..config import MAP_KEY
from ..host.bot import is_admin
from ..replies.outcome_text import Enough, place_text
from .call import ASKED_SECONDS, Asked, Call, Handler, Person, Reply
from .command_words import PUBLIC, folded_word, scope_named
from .scope_moves import bring, left_text, rebind, rename

_OFF = frozenset({"off", "取消", "清除", "none"})
_MOST = 10
"""Conversations that a name may mean, or of one scope in the list."""
_ADMINS = 5
"""Admins' chats that are told of one wish."""


async def scope(call: Call) -> Reply:
    """Without words, describe the scope; with a name, set it, which only admins may."""
    word, more = call.split()
    handler = _WORDS.get(folded_word(word))
    return await (_set(call) if handler is None else handler(call.with_rest(more)))


async def _describe(call: Call) -> Reply:
    say, report = call.say, await call.service.describe(conversation_id=call.where)
    alone = call.where.kind is ConversationKind.PRIVATE and not call.actor.admin
    return [
        say("scope.id", id=call.where.umo),
        _scope_line(call, report.resolution),
        *call.texts.counted("status", visible=report.visible),
        # Alone with the bot no admin can write.
        say("scope.ask_in" if alone else "scope.paste", id=call.where.map_key),
        call.paused(report.paused) if report.paused else "",
        *(left_text(call.texts, one) for one in report.left),
        say("scope.mixed_history") if report.mixed_history else "",
        say("scope.damaged") if report.damaged else "",
    ]


def _scope_line(call: Call, resolution: Resolution) -> str:
    """One sentence: the scope and why."""
    reason = call.say(f"why.{resolution.code}", key=resolution.key, value=resolution.value)
    if resolution.scope:
        scope = place_text(call.texts, resolution.name)
        return call.say("scope.usable", scope=scope, why=reason)
    return call.say("scope.refused" if resolution.refused else "scope.read_public_only", why=reason)


async def _list(call: Call) -> Reply:
    """The scopes and their conversations, for admins; to others, what they see."""
    if not call.actor.admin:
        return await _describe(call)
    met, lines = await asyncio.to_thread(places_of, await call.service.met()), []
    raw = call.plugin.panel_map.read()
    for name, count in (await call.service.scopes()).items():
        keys = sorted(with_renamed(raw, name, name)[1])
        found = [(key, met.get(key)) for key in keys[:_MOST]]
        places = tuple(place_name(call, *place) if place else safe(key) for key, place in found)
        places += ("……",) if len(keys) > _MOST else ()
        scope, held = place_text(call.texts, name), call.texts.listed("scope", held=count)
        shown = places or call.say("common.none")
        lines.append(call.say("scope.list_line", scope=scope, held=held, places=shown))
    return lines or call.say("scope.list_empty")


async def _set(call: Call, *, new: bool = False) -> Reply:
    """This conversation's scope, or that of another one, which is named behind the scope. ``new``:
    the name is meant as it is written."""
    call.for_admins()
    word, who = call.split()
    name = None if folded_word(word) in _OFF else scope_named(word)
    where, called, asked, count = call.where, "", list[str](), 0
    if name is not None and name != PUBLIC:
        scopes = await call.service.scopes()
        if not new and name not in scopes:
            name, asked = await _meant(call, name, scopes)
        count = scopes.get(name, 0)
    if who:
        where, called, doubt = await _elsewhere(call, who, name)
        asked += doubt
    there = entry_of(call.plugin.panel_map.read(), where) == name
    shown = safe(name or "")
    if count and where.kind is not ConversationKind.PRIVATE and not there:
        asked.append(call.say("scope.opens", scope=shown, count=count))
    do = partial(set_scope, name=name, where=where, called=called)
    if not asked:
        return await do(call)
    return call.ask(asked, do, short=call.say("scope.deed", scope=shown))


async def _meant(call: Call, name: str, scopes: Mapping[str, int]) -> tuple[str, list[str]]:
    """The scope that is meant by the name of none, and what is to be asked first."""
    if near := near_name(name, scopes):
        return near, [call.say("scope.near", name=cut(name), scope=near)]
    await call.check_scope({call.where.map_key: name}, call.where)
    links = call.plugin.config.engine.identity_links
    like = await asyncio.to_thread(named, name, await call.service.met(), links)
    return name, [call.say("scope.called_alike", scope=safe(name))] if any(like) else []


async def _elsewhere(
    call: Call, who: str, name: str | None
) -> tuple[ConversationId, str, list[str]]:
    """The one conversation that a person's or a group's name means, as people call it; and what is
    to be asked before a scope is opened to it: anybody can take a name. Where none or several are
    meant, the command is answered so."""
    met, links = await call.service.met(), call.plugin.config.engine.identity_links
    places, persons = await asyncio.to_thread(named, who, met, links)
    shown = cut(who)
    if not places:
        code = "scope.never_private" if persons else "scope.unmet"
        raise Enough(call.say(code, who=shown, name=cut(call.rest)))
    line = partial(call.say, "scope.which_line", scope=safe(name or call.say("scope.word_off")))
    which = [line(id=safe(key), place=place_name(call, *one)) for key, one in places.items()]
    if len(which) > 1 or len({links.get(one, one) for one in persons}) > 1:
        raise Enough("\n".join([call.say("scope.which", who=shown), *which[:_MOST]]))
    ((where, called),) = places.values()
    by_id = who in (where.umo, where.map_key, where.group, where.peer, where.person)
    sure = by_id or name in (None, PUBLIC)
    return where, called, [] if sure else [call.say("scope.anyone", who=shown), *which]


_WORDS: Mapping[str, Handler] = {
    **dict.fromkeys(("", "help", "帮助", "?", "？"), _describe),
    **dict.fromkeys(("list", "列表", "查看", "看", "显示", "show", "ls", "all", "全部"), _list),
    **dict.fromkeys(("new", "新建"), partial(_set, new=True)),
    **dict.fromkeys(("bring", "带来", "搬来"), bring),
    **dict.fromkeys(("rebind", "改绑", "换绑"), rebind),
    **dict.fromkeys(("rename", "改名", "重命名"), rename),
}


async def set_scope(
    call: Call, *, name: str | None, where: ConversationId, called: str = ""
) -> Reply:
    """Save the map with a conversation's entry changed, or dropped, and go by it. Another one than
    this one, which people call ``called``, is told."""
    elsewhere, here = where.map_key != call.where.map_key, call.say("scope.here")
    place = place_name(call, where, called) if elsewhere else here
    panel_map = call.plugin.panel_map
    async with panel_map.changing:
        raw = panel_map.read()
        if entry_of(raw, where) == name:
            return call.say("scope.set_already", place=place)
        changed = with_entry(raw, where, name)
        await call.check_scope(changed, where)
        await panel_map.save({MAP_KEY: changed})
        outcome = await call.service.change_map(changed, conversation_id=where, actor=call.actor)
    before, now = call.done(outcome)
    if elsewhere:
        told = call.say("scope.told", change=_changed(call, now, name, here))
        await call.plugin.tell(where.umo, told)
    done, former = call.say("scope.done", change=_changed(call, now, name, place)), before.name
    if not former or now.name in ("", former):
        return done
    # What does not come along, who sees it, and how it is brought.
    named = "scope.stays" if is_mapped_name(former) else "scope.stays_derived"
    stays = "scope.stays_public" if former == PUBLIC else named
    return [done, call.say(stays, scope=former)]


def _changed(call: Call, now: Resolution, name: str | None, place: str) -> str:
    """Who sees from now on what is said there."""
    said = _scope_line(call, now)
    if now.name in (name, PUBLIC):
        kind = "public" if now.name == PUBLIC else "private"
        said = call.say(f"scope.set_{kind}", scope=name, place=place)
    return said if name else f"{call.say('scope.set_off', place=place)}\n{said}"


def place_name(call: Call, where: ConversationId, called: str) -> str:
    """A conversation as a person calls it."""
    kind = "private" if where.kind is ConversationKind.PRIVATE else "group"
    return call.say(f"scope.{kind}", name=cut(called) or safe(where.map_key))


async def join(call: Call) -> Reply:
    """Tell the admins in private what is wished. Whether there is such a scope is not for who asks
    to know: a wish is answered alike."""
    word, more = call.split()
    if more:
        return call.say("join.usage")
    if call.actor.admin:
        return await _set(call)
    where, scope, who = call.where, scope_named(word), cut(call.actor.name)
    await call.check_scope({where.map_key: scope}, where)
    asker = ("", call.actor.person or where.umo)
    if (before := call.asked.get(asker)) is not None and monotonic() < before.until:
        return call.say("join.waiting")
    met, scopes = await call.service.met(), await call.service.scopes()
    scope = scope if scope in scopes else near_name(scope, scopes) or scope
    called = call.actor.name if is_private_chat(where.umo) else where.title
    asked = Asked(
        partial(set_scope, name=scope, where=where, called=called),
        monotonic() + ASKED_SECONDS,
        admin=True,
        short=call.say("join.deed", who=who, scope=scope),
        refused=partial(call.plugin.tell, where.umo, call.say("join.refused")),
    )
    line = call.say("join.line", scope=scope, id=safe(where.map_key))
    _, like = await asyncio.to_thread(named, call.actor.name, met, {})
    own = ids_of(call.actor.person, call.plugin.config.engine.identity_links)
    wish = call.say("join.wish", who=who, place=place_name(call, where, called), scope=scope)
    wish += call.say("join.namesake") if like - own else ""
    wish += f"\n{call.say('join.agree', line=line)}"
    alone = [one for one in met if is_private_chat(one.umo) and not one.group and one.person]
    admins = [one for one in alone if is_admin(call.plugin.astrbot, one.person)][:_ADMINS]
    reached = [await _tell(call, (one.umo, one.person), wish, asked) for one in admins]
    if not any(reached):
        return call.say("join.nobody", line=line)
    call.asked.note(asker, asked)  # so long, no wish of the same person is told
    return call.say("join.asked")


async def _tell(call: Call, admin: Person, wish: str, asked: Asked) -> bool:
    """A yes of theirs means the wish only where they were asked nothing else."""
    other = call.asked.get(admin)
    if other is not None and monotonic() < other.until:
        return await call.plugin.tell(admin[0], wish)
    how = call.say("asked.how", deed=asked.short)
    reached = await call.plugin.tell(admin[0], f"{wish}\n{how}")
    if reached:
        call.asked.note(admin, asked)
    return reached
