"""Where an agent acts that the bot framework woke by itself: its origin, completed. Pure.

The event of such an agent carries a conversation's ``unified_msg_origin`` and nothing else that is
true of it: neither the platform nor the group nor a sender. Persons' own messages told those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...models.conversation import ConversationId, ConversationKind, SeenSender


def complete(
    parsed: ConversationId, adapter: str | None, seen: Sequence[SeenSender]
) -> ConversationId:
    """``parsed`` with adapter, group and peer; ``hidden`` where they cannot be told for certain.

    Args:
        parsed: From the origin's string alone.
        adapter: The type of the origin's account as the platform manager knows it, None if it
            does not.
        seen: Who has spoken under this origin.
    """
    seen = _on(adapter, seen)
    unknown = replace(parsed, adapter=adapter, peer=None, group=None, hidden=True)
    places = {(sender.adapter, sender.group) for sender in seen}
    if len(places) != 1:
        return unknown
    ((platform, group),) = places
    # One with a group is no private chat, as for a person's own message.
    private = parsed.kind is ConversationKind.PRIVATE and not group
    if private:
        peers = {sender.peer for sender in seen}
        if len(peers) != 1:
            return unknown
        return replace(parsed, adapter=platform, peer=peers.pop() or None)
    kind = ConversationKind.OTHER if parsed.kind is ConversationKind.PRIVATE else parsed.kind
    return replace(parsed, adapter=platform, kind=kind, peer=None, group=group or None)


def on_behalf_of(
    conversation_id: ConversationId, seen: Sequence[SeenSender], sender: str
) -> SeenSender | None:
    """The person for whom an agent acts; None where it cannot be told.

    Args:
        conversation_id: Completed.
        seen: Who has spoken under its origin.
        sender: Who set the timer, as the job says; empty if it does not. A job that a woken agent
            has made itself names the session instead of a person.
    """
    seen = _on(conversation_id.adapter, seen)
    by_peer = {one.peer: one for one in seen if one.peer}
    session, adapter = conversation_id.session, conversation_id.adapter
    named = sender != session or conversation_id.peer == sender
    if named and sender in by_peer:
        return by_peer[sender]
    if named and sender and adapter:
        return SeenSender(conversation_id.umo, "", adapter, "", sender, "")
    if len(by_peer) != 1:
        return None
    ((peer, found),) = by_peer.items()
    return found if conversation_id.peer or _is_of_one(session, peer) else None


def _is_of_one(session: str, peer: str) -> bool:
    """True for a member's own session in a group that the platform splits: the id is in it."""
    return (
        session == peer
        or session.startswith((f"{peer}_", f"{peer}%"))
        or session.endswith(f"_{peer}")
    )


def _on(adapter: str | None, seen: Sequence[SeenSender]) -> list[SeenSender]:
    return [sender for sender in seen if adapter is None or sender.adapter == adapter]
