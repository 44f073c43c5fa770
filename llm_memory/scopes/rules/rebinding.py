"""Names of chats and bot accounts that were replaced by others, and the owner's map for that. Pure.

A name is a bot account, or the map key of a conversation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...models.conversation import ConversationId, ConversationKind
from ...models.data_models import Reason, Refused
from ...models.resolution import Rebinding
from .scope_map import (
    account_of,
    entries_of,
    is_conversation_key,
    without_account,
    without_thread,
)


def is_account(name: str) -> bool:
    """True for the name of a bot account, in contrast to the key of a conversation."""
    return bool(name) and ":" not in name


def fault_of(old: str, new: str, accounts: Collection[str] | None) -> Refused | None:
    """Why ``new`` cannot take the place of ``old``, as far as the names tell.

    Args:
        accounts: The bot accounts that exist now, None where they are unknown.
    """
    if old == new or _kind_of(old) is None or _kind_of(old) != _kind_of(new):
        return Refused(Reason.NOT_ALIKE)
    if accounts is not None and account_of(new) not in accounts:
        return Refused(Reason.NO_ACCOUNT, detail=new)
    if is_account(old) and old in (accounts or ()):
        return Refused(Reason.ACCOUNT_LIVES, detail=old)
    return None


def _kind_of(name: str) -> str | None:
    """None for what names neither a bot account nor a conversation."""
    if is_account(name):
        return "account"
    return ConversationId.parse(name).kind if is_conversation_key(name) else None


def chat_key(conversation_id: ConversationId) -> str:
    """The map's key of a conversation; of a topic, that of its group."""
    key = conversation_id.map_key
    is_group = conversation_id.kind is ConversationKind.GROUP and is_conversation_key(key)
    return without_thread(key) if is_group else key


def renamed(key: str, old: str, new: str) -> str | None:
    """What a conversation is called where ``new`` stands for ``old``; None if that does not concern
    it. A topic goes with its group."""
    if not is_conversation_key(key):
        return None
    if is_account(old):
        return f"{new}:{without_account(key)}" if account_of(key) == old else None
    return new + key[len(old) :] if old in (key, without_thread(key)) else None


def names_of(
    conversation_id: ConversationId, rebound: Sequence[Rebinding]
) -> tuple[ConversationId, ...]:
    """The other names that a conversation has or had, the newest first: what comes under one of
    them belongs to all. Policies derive its scope from the last.

    Args:
        rebound: In the order in which they were made.
    """
    first = conversation_id
    for one in reversed(rebound):
        first = _under(first, one.new, one.old) or first
    names = [first]
    for one in rebound:
        if (named := _under(names[-1], one.old, one.new)) is not None:
            names.append(named)
    return () if names == [conversation_id] else tuple(reversed(names))


def _under(now: ConversationId, old: str, new: str) -> ConversationId | None:
    to = renamed(now.map_key, old, new)
    if to is None:
        return None
    if is_account(old):
        return replace(now, umo=f"{new}:{without_account(now.umo)}", account=new)
    named = ConversationId.parse(to)
    group = named.session if now.kind is ConversationKind.GROUP else now.group
    peer = named.peer if now.kind is ConversationKind.PRIVATE else now.peer
    return replace(now, umo=to, account=named.account, group=group, peer=peer)


def with_moved(
    raw: Mapping[str, object], old: str, new: str
) -> tuple[dict[str, object], tuple[str, ...]] | Refused:
    """The owner's map in which each entry that names ``old`` has its new key, and the former keys
    of those."""
    there = {key: value for _, key, value in entries_of(raw)}
    moved = dict[str, tuple[str, str]]()
    for written, former, _ in entries_of(raw):
        if (to := renamed(former, old, new)) is not None:
            moved[written] = former, to
    if any(there.get(to, there[former]) != there[former] for former, to in moved.values()):
        return Refused(Reason.NAME_TAKEN, detail=new)
    changed = {written: value for written, value in raw.items() if written not in moved}
    changed |= {to: there[former] for former, to in moved.values()}
    return changed, tuple(dict.fromkeys(former for former, _ in moved.values()))


def with_moved_back(raw: Mapping[str, object], rebinding: Rebinding) -> dict[str, object]:
    """The map in which what was moved, and still stands there, has its former keys."""
    former = {renamed(key, rebinding.old, rebinding.new): key for key in rebinding.moved}
    return {former.get(key, key): value for key, value in raw.items()}
