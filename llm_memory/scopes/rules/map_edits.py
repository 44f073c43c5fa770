"""Changing one conversation's entry in the owner's map, and reading what was pasted into it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...models.conversation import ConversationId
from ...text.normalising import clean
from .map_keys import canonical_key, is_agent_key, is_conversation_key, is_persona_key

_ARROW = re.compile(r"\s*(?:→|⇒|->|=>)\s*")
_TO_FILL_IN = frozenset({"域名", "记忆域", "scope"})
"""What stands behind the arrow of the line that ``/memory scope`` shows."""


def with_entry(
    raw: Mapping[str, object], conversation_id: ConversationId, name: str | None
) -> dict[str, object]:
    """The raw map in which the conversation has this scope, or no entry of its own for None. All
    other entries stay as they were written."""
    own = {conversation_id.map_key, conversation_id.umo}
    kept = {key: value for key, value in raw.items() if _key(key, value) not in own}
    if name is not None:
        kept[conversation_id.map_key] = name
    return kept


def with_renamed(
    raw: Mapping[str, object], old: str, new: str
) -> tuple[dict[str, object], frozenset[str]]:
    """The raw map in which what gave the scope ``old`` gives ``new``, and the keys of that."""
    entries = {written: as_entry(str(written), value) for written, value in raw.items()}
    moved = {one: canonical_key(key) for one, (key, value) in entries.items() if value == old}
    return {**raw, **dict.fromkeys(moved, new)}, frozenset(moved.values())


def entry_of(raw: Mapping[str, object], conversation_id: ConversationId) -> str | None:
    """What the raw map says beside a key of the conversation's own; None for nothing."""
    own = {conversation_id.map_key, conversation_id.umo}
    entries = (as_entry(str(key), value) for key, value in raw.items())
    return next((str(value) for key, value in entries if canonical_key(key) in own), None)


def _key(key: object, value: object) -> str:
    return canonical_key(as_entry(str(key), value)[0])


def as_entry(key: str, value: object) -> tuple[str, object]:
    """A key and its value without what pasting brings along: blanks, invisible characters, and a
    whole line ``id → scope`` in one of the two fields."""
    key = clean(key)
    beside = clean(value) if isinstance(value, str) else value
    whole, name = _line(key)
    if name:
        own = beside if beside and beside not in _TO_FILL_IN else name
        # The same line in both fields says the same twice.
        return whole, _line(own)[1] or own if isinstance(own, str) else own
    if isinstance(beside, str):
        named, name = _line(beside)
        if name and canonical_key(named) == canonical_key(key):
            return key, name
    return key, value


def _line(text: str) -> tuple[str, str]:
    """The id and the scope of a line; empty ones for what is no such line."""
    left, *behind = _ARROW.split(text, maxsplit=1)
    key = canonical_key(left)
    if behind and (is_conversation_key(key) or is_persona_key(key) or is_agent_key(key)):
        return left, behind[0]
    return "", ""
