"""Who may read what the bot learned by listening: listening to a private chat is no consent to
publish it.

What was remembered in a private chat without anybody asking for it (a passive memory, or one that a
woken agent stored), and stands in a scope that strangers read, is shown to its speaker alone. It
stands in the files of that scope, and on the speaker's shelf for every filter: recall, lists,
primers, exports, merging and the indexes all go by ``place_name``, which asks this module.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from .conversation import ConversationKind, is_well_formed
from .data_models import Memory, Source
from .scope import Place, Scope, ScopeFilter

_CACHED: Final = 4096


def only_reader(scope: Scope, memory: Memory) -> Place | None:
    """The shelf of the one person who may read a memory of ``scope``; None if everybody who reads
    the scope may. Where no speaker is known, the private conversation itself has the shelf."""
    origin = memory.provenance
    asked_for = memory.active and origin.source is not Source.AGENT
    return _shelf(origin.person, origin.conversation) if scope.is_public and not asked_for else None


def is_for_speaker_alone(scope: Scope, conversation: str) -> bool:
    """True if what is learned from a conversation with this scope is for its speaker alone."""
    return scope.is_public and is_private_chat(conversation)


def has_known_readers(scope: Scope, memory: Memory) -> bool:
    """False where the bot put together what it heard in several conversations, or in one that it
    does not name: brought to a public scope, it would be read by everybody."""
    origin = memory.provenance
    unnamed = origin.source is Source.REFLECTION and not origin.conversation
    return memory.active or not (scope.is_public and unnamed)


def readers(scope: Scope, memory: Memory) -> ScopeFilter:
    """What a memory that is written to ``scope`` may be compared with."""
    shelf = only_reader(scope, memory)
    return ScopeFilter((scope,), shelves=() if shelf is None else (shelf,))


def is_private_chat(conversation: str) -> bool:
    """True for the id of any conversation that is no group. False for an empty or malformed one:
    entries that were written by hand, or brought from elsewhere, name no conversation."""
    kind = conversation.split(":", 2)[1] if is_well_formed(conversation) else ConversationKind.GROUP
    return kind != ConversationKind.GROUP


@lru_cache(maxsize=_CACHED)
def _shelf(person: str, conversation: str) -> Place | None:
    return Place.of_person(person or conversation) if is_private_chat(conversation) else None
