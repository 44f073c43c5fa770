"""``/memory scope`` and ``join``: which scope a conversation has, and giving it another one;
another name for a scope, and what was left behind in former ones."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from time import monotonic

from ...llm_memory import (
    Brought,
    ConversationId,
    ConversationKind,
    EngineClosed,
    LeftBehind,
    MapChange,
    MustBeNamed,
    ReadsNothing,
    Refused,
    Usable,
)
from ...llm_memory.models.consent import is_private_chat
from ...llm_memory.models.conversation import SeenSender
from ...llm_memory.scopes.rules.origins import is_no_stranger, named
from ...llm_memory.scopes.rules.scope_map import (
    entry_of,
    near_name,
    with_entry,
    with_renamed,
)
from ...llm_memory.scopes.rules.scope_resolution import ids_of
from ...llm_memory.text.safe_text import cut, safe
from ...llm_memory.texts import Texts
from ..host.bot_facts import is_admin
from ..replies.memory_line import place_text
from ..turn.first_message import scope_line, tell
from .call import ASKED_SECONDS, Asked, Call, Handler, admin
from .command_words import PUBLIC, folded_word, scope_named
from .rebind_command import rebind


async def bring(call: Call) -> str:
    """This conversation's, or that of the former scopes that are named. Where others see the
    target, too, it is asked about first."""
    return await _bring(call, names=call.rest.split())


async def _bring(call: Call, *, names: list[str]) -> str:
    outcome = await call.service.admin.bring(names, conversation_id=call.where, actor=call.actor)
    if isinstance(outcome, Refused):
        return call.refused(outcome)
    if isinstance(outcome, MustBeNamed):
        lines = [_left(call.texts, one, "scope.shared") for one in outcome.left]
        agreed = [*names, *(one.target for one in outcome.left)]
        do = partial(_bring, names=agreed)
        return call.ask("\n".join(lines), do, short=call.say("scope.bring"))
    lines = [brought_text(call.texts, one) for one in outcome]
    return "\n".join(lines) or call.say("scope.nothing_left")


def brought_text(texts: Texts, one: Brought, entries: int = 0) -> str:
    """What was brought, and what stayed. ``entries`` of the map that were given another scope: the
    whole scope has another name."""
    what = texts.listed("counts", entries=entries, memories=one.memories, turns=one.turns)
    what, target = what or texts.say("counts.nothing"), place_text(texts, one.target)
    code = "scope.renamed" if entries else "scope.brought"
    said = texts.say(code, source=one.source, target=target, what=what)
    return "\n".join([said, *texts.counted("rebind", left=one.left)])


def left_text(texts: Texts, left: LeftBehind, *, here: bool = True) -> str:
    """What a conversation no longer sees, and what brings it along: to itself if it is ``here``,
    else to admins."""
    own = "scope.left_public" if left.remainder.source.is_public else "scope.left"
    return _left(texts, left, own if here else "status.left")


def _left(texts: Texts, left: LeftBehind, code: str) -> str:
    where = min(left.remainder.conversations, default=left.source)
    what = texts.listed("counts", memories=left.memories, turns=left.turns)
    target = place_text(texts, left.target)
    words = where if safe(where).split() == [where] else left.source
    return texts.say(code, id=safe(where), target=target, what=what, words=words)


_ARROWS = str.maketrans(dict.fromkeys("→⇒", " "))


@admin
async def rename(call: Call) -> str:
    """``<old> <new>``. What cannot be told apart again is asked about first."""
    names = [scope_named(name) for name in call.rest.translate(_ARROWS).split()]
    if len(names) != 2 or PUBLIC in names or names[0] == names[1]:
        return call.say("scope.rename_usage")
    old, new = names
    await call.check_scope({call.where.map_key: new}, call.where)
    _, moved = with_renamed(call.plugin.panel_map.read(), old, new)
    exists = await call.service.admin.plan_rename(old, new, moved)
    if isinstance(exists, Refused):
        return call.refused(exists)
    do = partial(_rename, old=old, new=new)
    if not exists or not moved:
        return await do(call)
    asked = call.say("scope.merges", source=old, target=new, count=len(moved))
    return call.ask(asked, do, short=call.say("scope.merge", source=old, target=new))


async def _rename(call: Call, *, old: str, new: str) -> str:
    panel_map = call.plugin.panel_map
    async with panel_map.changing:
        changed, moved = with_renamed(panel_map.read(), old, new)
        if moved:
            await panel_map.save(changed)
        done = await call.service.admin.rename(
            old, new, changed, moved, conversation_id=call.where, actor=call.actor
        )
    if isinstance(done, Refused):
        return call.refused(done)
    if not moved:
        return brought_text(call.texts, done)
    return brought_text(call.texts, done, len(moved))


_OFF = frozenset({"off", "取消", "清除", "none"})
_MOST = 10
"""Conversations that a name may mean, as lines."""


async def scope(call: Call) -> str:
    """Without words, describe the scope; with a name, set it, which only admins may."""
    handler = _WORDS.get(folded_word(call.split()[0]))
    return await (admin(_set)(call) if handler is None else handler(call.behind()))


async def _describe(call: Call) -> str:
    report = await call.service.describe(conversation_id=call.where)
    alone = call.where.kind is ConversationKind.PRIVATE and not call.actor.admin
    paste = "ask_in" if alone else "paste"  # there no admin can write
    lines = [
        call.say("scope.id", id=call.where.umo),
        scope_line(call.plugin, report.resolution),
        *call.texts.counted("status", visible=report.visible),
        call.say(f"scope.{paste}", id=call.where.map_key),
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
        lines.append(call.say("status.warning", text=call.say("notice.strangers_in_public")))
    return "\n".join(lines)


async def _list(call: Call) -> str:
    """The scopes and their conversations, for admins; to others, what they see."""
    if not call.actor.admin:
        return await _describe(call)
    raw, met = call.plugin.panel_map.read(), await call.service.conversations.met()
    lines = []
    for scope, count in (await call.service.admin.scopes()).items():
        keys = sorted(with_renamed(raw, scope, scope)[1])
        found = [(key, named(key, met, {}).places.get(key)) for key in keys]
        places = [place_name(call, *place) if place else safe(key) for key, place in found]
        more = [call.say("scope.more_places", count=len(places) - _MOST)] * (len(places) > _MOST)
        shown = call.say("common.and").join(places[:_MOST] + more) or call.say("common.none")
        name = place_text(call.texts, scope)
        held = call.say("scope.held", count=count) if count else ""
        lines.append(call.say("scope.list_line", scope=name, held=held, places=shown))
    return "\n".join(lines) or call.say("scope.list_empty")


async def _set(call: Call, *, new: bool = False) -> str:
    """This conversation's scope, or that of another one, which is named behind the scope. ``new``:
    the name is meant as it is written."""
    word, who = call.split()
    where, place, name, lines = call.where, "", scope_named(word), list[str]()
    lets_in, count = name != PUBLIC and folded_word(word) not in _OFF, 0
    met, links = await call.service.conversations.met(), call.identity_links
    if lets_in:
        scopes = await call.service.admin.scopes()
        if not new and name not in scopes:
            name, lines = await _meant(call, name, met, scopes)
        count = scopes.get(name, 0)
    raw = call.plugin.panel_map.read()
    if who:
        found, shown = named(who, met, links), cut(who)
        if not found.places:
            code = "scope.never_private" if found.persons else "scope.unmet"
            return call.say(code, who=shown, name=cut(call.rest))
        say = partial(call.say, "scope.which_line", scope=safe(name))
        which = [
            say(id=safe(key), place=place_name(call, *there)) for key, there in found.places.items()
        ]
        if len(which) > 1 or len({links.get(one, one) for one in found.persons}) > 1:
            head = call.say("scope.which", who=shown)
            return "\n".join([head, *which[:_MOST]])
        ((where, called),) = found.places.values()
        place = place_name(call, where, called)
        if lets_in and not is_no_stranger(
            where, who, call.actor.person, met, lambda one: entry_of(raw, one) == name
        ):
            lines += [call.say("scope.anyone", who=shown), *which]
    if count and where.kind is not ConversationKind.PRIVATE and entry_of(raw, where) != name:
        lines.append(call.say("scope.opens", scope=safe(name), count=count))
    do = partial(set_scope, word=word if not lets_in else name, where=where, place=place)
    if not lines:
        return await do(call)
    return call.ask("\n".join(lines), do, short=call.say("scope.deed", scope=safe(name)))


async def _meant(
    call: Call, name: str, met: list[SeenSender], scopes: Mapping[str, int]
) -> tuple[str, list[str]]:
    """The scope that is meant by the name of none, and what is to be asked first."""
    if near := near_name(name, scopes):
        return near, [call.say("scope.near", name=cut(name), scope=near)]
    await call.check_scope({call.where.map_key: name}, call.where)
    like = named(name, met, call.identity_links)
    alike = [call.say("scope.called_alike", scope=safe(name))]
    return name, alike if like.persons or like.places else []


_WORDS: Mapping[str, Handler] = {
    "": _describe,
    **dict.fromkeys(("help", "帮助", "?", "？"), _describe),
    **dict.fromkeys(("list", "列表", "查看", "看", "显示", "show", "ls", "all", "全部"), _list),
    **dict.fromkeys(("new", "新建"), admin(partial(_set, new=True))),
    **dict.fromkeys(("bring", "带来", "搬来"), bring),
    **dict.fromkeys(("rebind", "改绑", "换绑"), rebind),
    **dict.fromkeys(("rename", "改名", "重命名"), rename),
}


async def set_scope(
    call: Call, word: str, where: ConversationId | None = None, place: str = ""
) -> str:
    """Save the map with a conversation's entry changed, and go by it. Another one than this one,
    which ``place`` describes, is told."""
    where, here = where or call.where, call.say("scope.here")
    elsewhere, place = where.map_key != call.where.map_key, place or here
    name = None if folded_word(word) in _OFF else scope_named(word)
    service, panel_map = call.service, call.plugin.panel_map
    report = await service.describe(conversation_id=where)
    if isinstance(report.resolution, ReadsNothing):
        return scope_line(call.plugin, report.resolution)
    async with panel_map.changing:
        raw = panel_map.read()
        former = entry_of(raw, where)
        if former == name:
            same = "scope.set_none" if name is None else "scope.set_already"
            return call.say(same, scope=place_text(call.texts, name or ""), place=place)
        was_legal = not await service.admin.check_entry(raw, where, call.actor)
        changed = with_entry(raw, where, name)
        await call.check_scope(changed, where)
        await panel_map.save(changed)
        change = await service.admin.change_map(changed, conversation_id=where, actor=call.actor)
    if isinstance(change, Refused):
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
    lines += [left_text(call.texts, one, here=not elsewhere) for one in left]
    back = call.say("scope.word_off") if former is None else place_text(call.texts, cut(former))
    back = f"{back} {where.map_key}" if elsewhere else back
    return "\n".join([*lines, *[call.say("scope.set_back", word=back)] * was_legal])


def place_name(call: Call, where: ConversationId, called: str) -> str:
    """A conversation as a person calls it."""
    kind = "private" if where.kind is ConversationKind.PRIVATE else "group"
    return call.say(f"scope.{kind}", name=cut(called) or safe(where.map_key))


def _changed(call: Call, change: MapChange, name: str | None, place: str) -> str:
    """Who sees from now on what is said there."""
    after = change.after
    if name is None:
        said = scope_line(call.plugin, after)
        if isinstance(after, Usable) and after.scope.is_public:
            said = call.say("scope.set_public", place=place)
        return call.say("scope.set_off", place=place) + "\n" + said
    if isinstance(after, Usable) and after.scope.name == name:
        kind = "public" if after.scope.is_public else "private"
        return call.say(f"scope.set_{kind}", scope=name, count=change.sharing, place=place)
    return scope_line(call.plugin, after)


_ADMINS = 5
"""Admins' chats that are told of one wish."""


async def join(call: Call) -> str:
    """Tell the admins in private what is wished. Whether there is such a scope is not for who asks
    to know: a wish is answered alike."""
    word, more = call.split()
    if not word or more:
        return call.say("join.usage")
    if call.actor.admin:
        return await _set(call)
    where, now, scope = call.where, monotonic(), scope_named(word)
    await call.check_scope({where.map_key: scope}, where)
    asker = ("", call.actor.person or where.umo)
    before = call.asked.get(asker)
    if before is not None and now < before.until:
        return call.say("join.waiting")
    met, scopes = await call.service.conversations.met(), await call.service.admin.scopes()
    scope = scope if scope in scopes else near_name(scope, scopes) or scope
    _, title = named(where.map_key, met, {}).places.get(where.map_key, (where, ""))
    called = call.actor.name if is_private_chat(where.umo) else where.title or title
    place = place_name(call, where, called)
    do = partial(set_scope, word=scope, where=where, place=place)
    who = cut(call.actor.name) or safe(call.actor.person)
    deed = call.say("join.deed", who=who, scope=scope)
    refused = partial(tell, call.plugin, where.umo, call.say("join.refused"))
    asked = Asked(do, now + ASKED_SECONDS, admin=True, short=deed, refused=refused)
    line = call.say("join.line", scope=scope, id=safe(where.map_key))
    wish = call.say("join.wish", who=who, place=place, scope=scope)
    if _has_namesakes(call, met):
        wish += call.say("join.namesake")
    admins = [one for one in met if is_private_chat(one.umo) and not one.group and one.person]
    admins = [one for one in admins if is_admin(call.plugin.astrbot, one.person)][:_ADMINS]
    agree = call.say("join.agree", line=line)
    reached = [await _tell(call, one, f"{wish}\n{agree}", asked) for one in admins]
    if not any(reached):
        return call.say("join.nobody", line=line)
    call.asked.note(asker, asked)  # so long, no wish of the same person is told
    return call.say("join.asked")


async def _tell(call: Call, admin: SeenSender, wish: str, asked: Asked) -> bool:
    """A yes of theirs means the wish only where they were asked nothing else."""
    slot = (admin.umo, admin.person)
    other = call.asked.get(slot)
    free = other is None or monotonic() >= other.until
    how = f"\n{call.say('asked.how', deed=asked.short)}" if free else ""
    if not await tell(call.plugin, admin.umo, wish + how):
        return False
    if free:
        call.asked.note(slot, asked)
    return True


def _has_namesakes(call: Call, met: list[SeenSender]) -> bool:
    """True if another person is called the same."""
    links, person = call.identity_links, call.actor.person
    return bool(named(call.actor.name, met, {}).persons - ids_of(person, links))
