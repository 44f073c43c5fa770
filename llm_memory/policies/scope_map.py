"""Reading ``conversation_scope_map``: which entries are legal, and whether the map is damaged."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..errors import InvalidScope
from ..models.conversation import ConversationKind
from ..models.scope import PUBLIC_NAME, Scope, ScopeFault
from ..models.settings import IllegalName, ScopeMap
from .text import clean

PERSONA_PREFIX = "persona:"
UNKNOWN_KEYS = " * "
"""On the list of lost keys: some that nobody can name, for the state that knew them is gone. No key
of a map has blanks around it."""
_ALL_BUT_SAME = 0.9
_COMPARED = 500
"""Ids that a key is held against: it runs while the plugin opens."""


@dataclass(frozen=True, slots=True)
class MapFault:
    """An entry that its owner should look at.

    ``fault`` is None where the value is fine and the key is odd; ``closest`` is the seen
    conversation id that looks most like the key, empty if none does.
    """

    key: str
    value: str
    fault: ScopeFault | None = None
    closest: str = ""


def read_scope_map(raw: Mapping[str, object], folders: Collection[str]) -> ScopeMap:
    """Check each entry of ``raw``; ``folders`` are the scope names that stand on disk.

    A name that differs only in case from a folder (else from an earlier entry) is illegal: on a
    disk that folds case the two would be one. Blanks around a key, and what nobody can see in it,
    come from pasting and go; a key that was written without them wins.
    """
    taken = {folder.lower(): folder for folder in sorted(folders)} | {PUBLIC_NAME: PUBLIC_NAME}
    known = set(folders)
    entries: dict[str, Scope | IllegalName] = {}
    for written, value in raw.items():
        key = clean(str(written))
        if key != written and key in raw:
            continue
        try:
            scope = Scope.parse(value)
        except InvalidScope as error:
            entries[key] = IllegalName(str(value), ScopeFault(error.reason))
            continue
        holder = taken.setdefault(scope.name.lower(), scope.name)
        if holder != scope.name and scope.name not in known:
            entries[key] = IllegalName(scope.name, ScopeFault.CASE_CLASH)
            continue
        entries[key] = scope
    return ScopeMap(MappingProxyType(entries))


def private_keys(scope_map: ScopeMap) -> frozenset[str]:
    """The keys that map to a private scope."""
    return frozenset(
        key
        for key, value in scope_map.entries.items()
        if isinstance(value, Scope) and not value.is_public
    )


@dataclass(frozen=True, slots=True)
class MapHealth:
    """``held``: keys on hold now, ``UNKNOWN_KEYS`` perhaps among them. For the next comparison:
    ``lost``, all that an accident took and nobody gave back, and ``remembered``, the private keys
    of the last map that had any."""

    held: frozenset[str]
    lost: frozenset[str]
    remembered: frozenset[str]

    @property
    def damaged(self) -> bool:
        """True while the map has lost all its private conversations at once."""
        return bool(self.held)


def judge_map(former: frozenset[str], lost: frozenset[str], scope_map: ScopeMap) -> MapHealth:
    """Compare the map with the private keys it had before, and with those it has lost.

    Losing single keys is a decision. Losing all of them at once looks like an accident (a wrong
    type resets a map to nothing): they are held until one of them is back or an admin confirms.
    """
    now = private_keys(scope_map)
    if lost & now:
        lost = frozenset()
    elif former and not former & now:
        lost |= former
    if now:
        lost -= {UNKNOWN_KEYS}
    held = lost.difference(scope_map.entries)
    return MapHealth(held=held, lost=lost, remembered=now or former)


def may_have_lost_all(scope_map: ScopeMap, folders: Iterable[str]) -> bool:
    """Where nobody remembers the former map: True if this one names no private scope, though the
    vault has folders of such as only a map can name."""
    return not private_keys(scope_map) and any(_is_mappable(folder) for folder in folders)


def _is_mappable(folder: str) -> bool:
    try:
        return not Scope.parse(folder).is_public
    except InvalidScope:
        return False


def odd_keys(scope_map: ScopeMap, seen: Iterable[str]) -> list[MapFault]:
    """Keys that look mistyped, with the seen conversation id that looks most like them.

    That is: no id at all; an account that no message ever came from; or all but the same as a seen
    id. A well-formed key that is merely unseen is a conversation that has not spoken yet.
    """
    ids = frozenset(seen)
    accounts = {_account(seen_id) for seen_id in ids}
    faults = []
    for key, value in scope_map.entries.items():
        if key in ids or is_persona_key(key):
            continue
        closest = _closest(key, ids)
        odd_account = bool(ids) and _account(key) not in accounts
        if not is_conversation_key(key) or odd_account or _all_but_same(key, closest):
            name = value.name if isinstance(value, Scope) else value.value
            faults.append(MapFault(key, name, closest=closest))
    return faults


def _account(key: str) -> str:
    return key.split(":", 1)[0]


def _closest(key: str, ids: frozenset[str]) -> str:
    """The id most like ``key``, among those of its account if there are any."""
    alike = sorted(seen for seen in ids if _account(seen) == _account(key)) or sorted(ids)
    close = difflib.get_close_matches(key, alike[:_COMPARED], n=1, cutoff=0.0)
    return close[0] if close else ""


def _all_but_same(key: str, closest: str) -> bool:
    return difflib.SequenceMatcher(None, key, closest).ratio() >= _ALL_BUT_SAME


def illegal_names(scope_map: ScopeMap) -> list[MapFault]:
    """The entries that are ignored because of their value."""
    return [
        MapFault(key, value.value, fault=value.fault)
        for key, value in scope_map.entries.items()
        if isinstance(value, IllegalName)
    ]


def is_conversation_key(key: str) -> bool:
    """True for ``<account>:<known message type>:<session>``."""
    parts = key.split(":", 2)
    return len(parts) == 3 and all(parts) and parts[1] in {kind.value for kind in ConversationKind}


def is_persona_key(key: str) -> bool:
    """True for ``persona:<id>``. An account called ``persona`` keeps its conversations."""
    named = key.removeprefix(PERSONA_PREFIX)
    return named != key and bool(named) and not is_conversation_key(key)
