"""Keys of ``conversation_scope_map``: how they are read, and which conversation they mean."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from ...models.conversation import AGENT_ACCOUNT, ConversationId, ConversationKind

PERSONA_PREFIX: Final = "persona:"
_KINDS: Final = {str(kind).lower(): kind for kind in ConversationKind} | {
    "group": ConversationKind.GROUP,
    "friend": ConversationKind.PRIVATE,
}
_DIGITS: Final = str.maketrans("０１２３４５６７８９", "0123456789")
_SEPARATOR: Final = re.compile("[:：]")


def canonical_key(key: str) -> str:
    """``key`` as AstrBot writes it: ``qq:group:７７`` is ``qq:GroupMessage:77``. Anything but its
    middle part and full-width digits stays as it is."""
    parts = key.split(":", 2)
    if len(parts) != 3 or not all(parts) or is_persona_key(key):
        return key
    account, written, session = parts
    kind = _KINDS.get(written.strip().lower())
    return f"{account}:{kind}:{session.translate(_DIGITS)}" if kind is not None else key


def account_of(key: str) -> str:
    """The bot account that a conversation key names."""
    return key.split(":", 1)[0]


def without_account(key: str) -> str:
    """What a conversation key names beside the bot account."""
    return key.partition(":")[2]


def is_conversation_key(key: str) -> bool:
    """True for ``<account>:<known message type>:<session>``."""
    parts = key.split(":", 2)
    return len(parts) == 3 and all(parts) and parts[1] in {kind.value for kind in ConversationKind}


def is_persona_key(key: str) -> bool:
    """True for ``persona:<id>``. An account called ``persona`` keeps its conversations."""
    named = key.removeprefix(PERSONA_PREFIX)
    return named != key and bool(named) and not is_conversation_key(key)


def is_agent_key(key: str) -> bool:
    """True for ``mcp:project:<name>``, the key of a coding agent's conversation."""
    parts = key.split(":", 2)
    named = len(parts) == 3 and all(part and part == part.strip() for part in parts)
    return named and parts[0] == AGENT_ACCOUNT and not is_conversation_key(key)


def is_unreadable(key: str) -> bool:
    """True for what is the key of no conversation, persona or agent. A blank beside a separator is
    none that AstrBot writes."""
    if is_persona_key(key) or is_agent_key(key):
        return False
    return not is_conversation_key(key) or any(part != part.strip() for part in key.split(":", 2))


def is_gone(key: str, accounts: Collection[str] | None) -> bool:
    """True for the key of a conversation on a bot account that is not one of ``accounts``. False
    where those are not known: None."""
    return accounts is not None and is_conversation_key(key) and account_of(key) not in accounts


def seems_to_mean(key: str, conversation_id: ConversationId) -> bool:
    """True if an id of the conversation's group or person stands in an unreadable ``key`` as a
    whole: 777 stands in ``777`` and ``qq:grp:777``, not in ``7770``."""
    named = _SEPARATOR.split(key, maxsplit=1)[-1] or key
    ids = (conversation_id.session, conversation_id.group, conversation_id.peer)
    own = {part.lstrip("-") for one in ids if one for part in (one, chat_of(one))}
    return any(_stands_in(one, named) for one in own if one)


def meant_by(key: str, spoken: Collection[str]) -> set[str]:
    """The conversations that a key seems to mean which can match none itself: those of the same
    name on another account, or whose number stands in what is no id."""
    if not is_unreadable(key):
        beside = without_account(key)
        return {one for one in spoken if without_account(one) == beside}
    return {one for one in spoken if seems_to_mean(key, ConversationId.parse(one))}


def chat_of(session: str) -> str:
    """``-100`` for ``-100#7``, a thread of it. What only begins with the mark (``#general``) is a
    whole id."""
    chat, _, thread = session.rpartition("#")
    return chat if chat and thread else session


def _stands_in(one: str, text: str) -> bool:
    edge = "0-9" if one.isdecimal() else "0-9A-Za-z"
    return re.search(f"(?<![{edge}]){re.escape(one)}(?![{edge}])", text) is not None
