"""``/memory join``: a person asks that this conversation be let into a scope; an admin decides."""

from __future__ import annotations

from functools import partial
from time import monotonic

from ...llm_memory.models.consent import is_private_chat
from ...llm_memory.models.conversation import SeenSender
from ...llm_memory.scopes.rules.identity import ids_of
from ...llm_memory.scopes.rules.origins import named
from ...llm_memory.text.safe_text import safe
from ..turn.first_message import tell
from ..turn.turn_reader import is_admin
from .call import Asked, Call
from .command_words import scope_named
from .scope_commands import place_name, set_scope

_AGAIN_SECONDS = 600.0
"""So long a person's next wish is not told."""
_ANSWER_SECONDS = 86_400.0
_MOST = 5
"""Admins' chats that are told of one wish."""
_NAME = 40


async def join(call: Call) -> str:
    """Tell the admins in private what is wished. Whether there is such a scope is not for who asks
    to know: a wish is answered alike."""
    word, more = call.split()
    if not word or more:
        return call.say("join.usage")
    if call.actor.admin:
        return await set_scope(call, word)
    where, now, scope = call.where, monotonic(), scope_named(word)
    await call.check_scope({where.map_key: scope}, where)
    asker = ("", call.actor.person or where.umo)
    before = call.asked.get(asker)
    if before is not None and now < before.until:
        return call.say("join.waiting")
    called = call.actor.name if is_private_chat(where.umo) else where.title
    place = place_name(call, where, called)
    do = partial(set_scope, word=scope, where=where, place=place)
    call.asked.note(asker, Asked(do, now + _AGAIN_SECONDS, admin=True))
    line = call.say("join.line", scope=scope, id=safe(where.map_key))
    met = await call.service.conversations.met()
    wish = call.say("join.wish", who=safe(call.actor.name)[:_NAME], place=place, scope=scope)
    if _has_namesakes(call, met):
        wish += call.say("join.namesake")
    admins = [one for one in met if is_private_chat(one.umo) and not one.group and one.person]
    admins = [one for one in admins if is_admin(call.plugin.astrbot, one.person)][:_MOST]
    asked = Asked(do, now + _ANSWER_SECONDS, admin=True)
    reached = [await _tell(call, one, wish, line, asked) for one in admins]
    return call.say("join.asked") if any(reached) else call.say("join.nobody", line=line)


async def _tell(call: Call, admin: SeenSender, wish: str, line: str, asked: Asked) -> bool:
    """A yes of theirs means the wish only where they were asked nothing else."""
    slot = (admin.umo, admin.person)
    other = call.asked.get(slot)
    free = other is None or monotonic() >= other.until
    how = call.say("join.agree_yes" if free else "join.agree", line=line)
    if not await tell(call.plugin, admin.umo, f"{wish}\n{how}"):
        return False
    if free:
        call.asked.note(slot, asked)
    return True


def _has_namesakes(call: Call, met: list[SeenSender]) -> bool:
    """True if another person is called the same."""
    links, person = call.identity_links, call.actor.person
    return bool(named(call.actor.name, met, {}).persons - ids_of(person, links))
