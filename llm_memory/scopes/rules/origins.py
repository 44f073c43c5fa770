"""Where an agent acts that the bot framework woke by itself: its origin, completed; and which of
the places and persons that were met a name means. Pure.

The event of such an agent carries a conversation's ``unified_msg_origin`` and nothing else that is
true of it: neither the platform nor the group nor a sender. Persons' own messages told those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...catalogue.rules.bylines import folded_name
from ...models.conversation import ConversationId, ConversationKind, SeenSender
from .rebinding import chat_key
from .scope_map import chat_of


def named(
    name: str, met: Sequence[SeenSender], links: Mapping[str, str]
) -> tuple[dict[str, tuple[ConversationId, str]], frozenset[str]]:
    """What a name, or an id, may mean among what was met: private chats and whole groups by their
    key in the map, each with what it is called; and persons, also those who never wrote privately.
    ``links``: the owner's names of persons, by their ids."""
    folded, places = folded_name(name), dict[str, tuple[ConversationId, str]]()

    def is_called_so(one: SeenSender) -> bool:
        known_as = folded_name(one.name), folded_name(links.get(one.person, ""))
        return name in (one.peer, one.person) or folded in known_as

    persons = frozenset(one.person for one in met if one.person and is_called_so(one))
    for key, (where, called) in places_of(met).items():
        private = where.kind is ConversationKind.PRIVATE
        by_name = where.person in persons if private else folded_name(called) == folded
        if by_name or name in (key, where.umo, where.group):
            places[key] = where, called
    return places, persons


def places_of(met: Sequence[SeenSender]) -> dict[str, tuple[ConversationId, str]]:
    """All private chats and whole groups that were met, by key, each with what it is called."""
    places = dict[str, tuple[ConversationId, str]]()
    for one in met:
        where = place_of(one)
        key, private = chat_key(where), where.kind is ConversationKind.PRIVATE
        its_name = one.name if private or not one.peer else ""
        places[key] = where, its_name or places.get(key, (where, ""))[1]
    return places


def place_of(seen: SeenSender) -> ConversationId:
    """The private chat, or the group as a whole, in which a person has spoken."""
    parsed = ConversationId.parse(seen.umo)
    if parsed.kind is not ConversationKind.GROUP or not seen.group:
        return replace(parsed, adapter=seen.adapter, peer=seen.peer or None)
    group = chat_of(seen.group)
    umo = f"{parsed.account}:{parsed.kind}:{group}"
    return replace(parsed, umo=umo, adapter=seen.adapter, group=group)


def complete(
    parsed: ConversationId, adapter: str | None, seen: Sequence[SeenSender]
) -> ConversationId:
    """What an origin's string tells, with adapter, group and peer, as all tell them who have spoken
    under it; ``hidden`` where they differ, or nobody has. ``adapter``: the type of its account,
    None where it is unknown."""
    found = {_as_told(parsed, one) for one in seen if adapter in (None, one.adapter)}
    hidden = replace(parsed, adapter=adapter, peer=None, hidden=True)
    return found.pop() if len(found) == 1 else hidden


def _as_told(parsed: ConversationId, seen: SeenSender) -> ConversationId:
    kind, peer = parsed.kind, None
    if kind is ConversationKind.PRIVATE and seen.group:
        kind = ConversationKind.OTHER  # as for a person's own message
    elif kind is ConversationKind.PRIVATE:
        peer = seen.peer or None
    return replace(parsed, adapter=seen.adapter, kind=kind, peer=peer, group=seen.group or None)


def on_behalf_of(
    conversation_id: ConversationId, seen: Sequence[SeenSender], sender: str
) -> SeenSender | None:
    """The person for whom an agent acts in a completed conversation: whom the job names as its
    ``sender``, else whose private chat it is; None where that cannot be told. A job that a woken
    agent has made itself names the session instead of a person."""
    adapter = conversation_id.adapter
    if adapter is None:
        return None
    spoke = {one.peer: one for one in seen if one.peer and one.adapter == adapter}
    named = sender in spoke or sender != conversation_id.session
    person = (sender if named else "") or conversation_id.peer or ""
    unknown = SeenSender(conversation_id.umo, "", adapter, "", person, "")
    return spoke.get(person, unknown) if person else None
