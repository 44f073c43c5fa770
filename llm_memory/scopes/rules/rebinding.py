"""Names of chats and bot accounts that were replaced by others, and the owner's map for that. Pure.

A name is a bot account, or the map key of a conversation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from ...errors import InvalidConversationId
from ...models.conversation import ConversationId, ConversationKind
from ...models.resolution import MovedEntry, RebindFault, Rebinding
from .scope_map import (
    account_of,
    as_entry,
    canonical_key,
    chat_of,
    is_conversation_key,
    without_account,
)


def is_account(name: str) -> bool:
    """True for the name of a bot account, in contrast to the key of a conversation."""
    return bool(name) and ":" not in name


def fault_of(old: str, new: str, accounts: Collection[str] | None) -> RebindFault | None:
    """Why ``new`` cannot take the place of ``old``, as far as the names tell.

    Args:
        accounts: The bot accounts that exist now, None where they are unknown.
    """
    if is_account(old) != is_account(new) or not (is_account(old) or _are_alike(old, new)):
        return RebindFault.FORM
    if old == new:
        return RebindFault.SAME
    if accounts is not None and account_of(new) not in accounts:
        return RebindFault.NO_ACCOUNT
    if is_account(old) and old in (accounts or ()):
        return RebindFault.OLD_LIVES
    return None


def _are_alike(one: str, other: str) -> bool:
    if not (is_conversation_key(one) and is_conversation_key(other)):
        return False
    return ConversationId.parse(one).kind == ConversationId.parse(other).kind


def chat_key(conversation_id: ConversationId) -> str:
    """The map's key of a conversation; of a topic, that of its group."""
    key = conversation_id.map_key
    if conversation_id.kind is not ConversationKind.GROUP or not is_conversation_key(key):
        return key
    begin, _, session = key.rpartition(":")
    return f"{begin}:{chat_of(session)}"


def renamed(key: str, rebinding: Rebinding) -> str | None:
    """What a conversation is called by now; None if the rebinding does not concern it. A topic goes
    with its group."""
    old, new = rebinding.old, rebinding.new
    if not is_conversation_key(key):
        return None
    if is_account(old):
        return f"{new}:{without_account(key)}" if account_of(key) == old else None
    if key == old:
        return new
    account, kind, session = key.split(":", 2)
    chat = chat_of(session)
    return new + session[len(chat) :] if f"{account}:{kind}:{chat}" == old else None


def followed(
    conversation_id: ConversationId, rebindings: Iterable[Rebinding]
) -> ConversationId | None:
    """The conversation under the name that it has now; None where it has the name that it had.

    ``rebindings``: in the order in which they were made.
    """
    now = conversation_id
    for rebinding in rebindings:
        to = renamed(now.map_key, rebinding)
        if to is None:
            continue
        if is_account(rebinding.old):
            umo = f"{rebinding.new}:{without_account(now.umo)}"
            now = replace(now, umo=umo, account=rebinding.new)
            continue
        named = ConversationId.parse(to)
        group = named.session if now.kind is ConversationKind.GROUP else now.group
        peer = named.peer if now.kind is ConversationKind.PRIVATE else now.peer
        now = replace(now, umo=to, account=named.account, group=group, peer=peer)
    return None if now == conversation_id else now


def moved_entries(
    raw: Mapping[str, object], old: str, new: str
) -> tuple[MovedEntry, ...] | RebindFault:
    """The entries of the owner's map that name ``old``, each with its new key."""
    rebinding = Rebinding(old, new)
    entries = [(written, *as_entry(str(written), value)) for written, value in raw.items()]
    there = {canonical_key(key): str(value) for _, key, value in entries}
    moved = []
    for written, key, value in entries:
        to = renamed(canonical_key(key), rebinding)
        if to is None:
            continue
        if there.get(to, str(value)) != str(value):
            return RebindFault.TAKEN
        moved.append(MovedEntry(str(written), str(value), to))
    return tuple(moved)


def with_moved(raw: Mapping[str, object], moved: Collection[MovedEntry]) -> dict[str, object]:
    """The map in which those of these entries that stand there have their new keys."""
    there = [entry for entry in moved if entry.written in raw]
    gone = {entry.written for entry in there}
    kept = {key: value for key, value in raw.items() if key not in gone}
    return kept | {entry.key: entry.value for entry in there}


def with_moved_back(raw: Mapping[str, object], moved: Collection[MovedEntry]) -> dict[str, object]:
    """The map in which these entries have their former keys. A new key that has got another value
    since keeps it."""
    kept = dict(raw)
    for entry in moved:
        if kept.get(entry.key) == entry.value:
            del kept[entry.key]
        kept.setdefault(entry.written, entry.value)
    return kept


def known_under(name: str, keys: Iterable[str]) -> list[str]:
    """Of these conversations, those that a name concerns."""
    rebinding = Rebinding(name, name)
    return sorted(key for key in keys if renamed(key, rebinding) is not None)


def parsed(key: str) -> ConversationId | None:
    """The conversation of a map key; None for what is none."""
    try:
        found = ConversationId.parse(key)
    except InvalidConversationId:
        return None
    group = found.session if found.kind is ConversationKind.GROUP else None
    return replace(found, group=group)
