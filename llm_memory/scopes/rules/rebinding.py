"""Names of chats and bot accounts that were replaced by others, and the owner's map for that. Pure.

A name is a bot account, or the map key of a conversation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...models.conversation import ConversationId, ConversationKind
from ...models.data_models import Refused
from ...models.resolution import Rebinding
from .scope_map import account_of, entries_of, is_conversation_key, without_account, without_thread


def fault_of(old: str, new: str, accounts: Collection[str] | None) -> Refused | None:
    """Why ``new`` cannot take the place of ``old``. ``accounts``: the bot accounts that exist now,
    None where they are unknown."""
    there, kind = accounts is None or account_of(new) in accounts, _kind_of(old)
    if old == new or not (there and kind) or kind != _kind_of(new):
        return Refused("not_alike")
    return Refused("account_lives", detail=old) if old in (accounts or ()) else None


def _kind_of(name: str) -> str:
    """Empty for what names neither a bot account nor a conversation."""
    if is_conversation_key(name):
        return ConversationId.parse(name).kind
    return "account" if name and ":" not in name else ""


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
    if ":" not in old:
        return f"{new}:{without_account(key)}" if account_of(key) == old else None
    return new + key[len(old) :] if old in (key, without_thread(key)) else None


def keys_of(key: str, rebound: Sequence[Rebinding]) -> list[str]:
    """The keys that a conversation has had, and has, by any of them; the first one first.
    ``rebound``: in the order in which they were made."""
    for one in reversed(rebound):
        key = renamed(key, one.new, one.old) or key
    keys = [key]
    for one in rebound:
        if (later := renamed(keys[-1], *one)) is not None:
            keys.append(later)
    return keys


def all_keys_of(key: str, rebound: Sequence[Rebinding]) -> list[str]:
    """Every key that any chain of rebindings leads to, whatever their order: also what two accounts
    were that became one."""
    keys = [key]
    for known in keys:
        found = {renamed(known, *way) for one in rebound for way in (one, reversed(one))}
        keys += [one for one in found if one is not None and one not in keys]
    return keys


def names_of(
    conversation_id: ConversationId, rebound: Sequence[Rebinding]
) -> tuple[ConversationId, ...]:
    """All names that a conversation has or had, the newest first: what comes under one of them
    belongs to all. Policies derive its scope from the last."""
    keys = keys_of(conversation_id.map_key, rebound)
    return tuple(_called(conversation_id, key) for key in reversed(keys))


def _called(now: ConversationId, key: str) -> ConversationId:
    account, same = account_of(key), without_account(now.map_key)
    if without_account(key) == same:  # a member's part of a group stays in its id
        return replace(now, umo=f"{account}:{without_account(now.umo)}", account=account)
    named = ConversationId.parse(key)
    group = named.session if now.kind is ConversationKind.GROUP else now.group
    peer = named.peer if now.kind is ConversationKind.PRIVATE else now.peer
    return replace(now, umo=key, account=account, group=group, peer=peer)


def with_moved(raw: Mapping[str, object], old: str, new: str) -> dict[str, object] | Refused:
    """The owner's map in which each entry that names ``old`` has its new key."""
    there = {key: value for _, key, value in entries_of(raw)}
    moved = {
        written: (former, to)
        for written, former, _ in entries_of(raw)
        if (to := renamed(former, old, new)) is not None
    }
    if any(there.get(to, there[former]) != there[former] for former, to in moved.values()):
        return Refused("name_taken", detail=new)
    changed = {written: value for written, value in raw.items() if written not in moved}
    return changed | {to: there[former] for former, to in moved.values()}
