"""Reading ``conversation_scope_map``: which entries are legal, and whether the map is damaged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from ...errors import InvalidScope
from ...models.scope import PUBLIC_NAME, Scope, ScopeFault
from ...models.settings import IllegalName, ScopeMap
from .map_edits import as_entry
from .map_keys import (
    canonical_key,
    is_conversation_key,
    is_gone,
    is_unreadable,
    meant_by,
    without_account,
)


class KeyFault(StrEnum):
    """What is odd about a key."""

    UNREADABLE = "unreadable"
    """It is no conversation id."""
    ACCOUNT = "account"
    """It names a bot account that does not exist now."""
    MEANT = "meant"
    """It matches no conversation, and seems to mean one that has spoken."""


@dataclass(frozen=True, slots=True)
class OddKey:
    """An entry that its owner should look at: its key matches no conversation. ``meant`` is the one
    that it seems to mean, empty for none."""

    key: str
    value: str
    fault: KeyFault
    meant: str = ""


def read_scope_map(raw: Mapping[str, object], folders: Collection[str]) -> ScopeMap:
    """Check each entry of ``raw``; ``folders`` are the scope names that stand on disk.

    A name that differs only in case from a folder (else from an earlier entry) is illegal: on a
    disk that folds case the two would be one. Blanks around a key, and invisible characters in it,
    come from pasting and go, a whole line ``id → scope`` in one field is read as it is meant, and a
    kind of conversation may be written short (``group``): a key that was written as AstrBot writes
    it wins.
    """
    taken = {folder.lower(): folder for folder in sorted(folders)} | {PUBLIC_NAME: PUBLIC_NAME}
    known = set(folders)
    entries: dict[str, Scope | IllegalName] = {}
    for written, beside in raw.items():
        key, value = as_entry(str(written), beside)
        key = canonical_key(key)
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
    unreadable = {
        key
        for key, value in entries.items()
        if is_unreadable(key) and not (isinstance(value, Scope) and value.is_public)
    }
    return ScopeMap(MappingProxyType(entries), unreadable=frozenset(unreadable))


def private_keys(scope_map: ScopeMap) -> frozenset[str]:
    """The keys that map to a private scope."""
    return frozenset(
        key
        for key, value in scope_map.entries.items()
        if isinstance(value, Scope) and not value.is_public
    )


def mappable(folders: Iterable[str]) -> frozenset[str]:
    """Of the scopes that have a folder, those that only a map can name: neither public nor one of
    our own making."""
    return frozenset(filter(_is_mappable, folders))


def _is_mappable(folder: str) -> bool:
    try:
        return not Scope.parse(folder).is_public
    except InvalidScope:
        return False


@dataclass(frozen=True, slots=True)
class MapHealth:
    """``held``: keys on hold now. For the next comparison: ``lost``, all that an accident took and
    were not given back, and ``remembered``, the private keys of the last map that had any."""

    held: frozenset[str]
    lost: frozenset[str]
    remembered: frozenset[str]

    @property
    def damaged(self) -> bool:
        """True while the map has lost all its private conversations at once."""
        return bool(self.held)


def judge_map(
    former: Collection[str],
    lost: Collection[str],
    scope_map: ScopeMap,
    *,
    met: Collection[str] | None = None,
    accounts: Collection[str] | None = None,
) -> MapHealth:
    """Compare the map with the private keys it had before, and with those it has lost.

    Losing single keys is a decision. Losing all of them at once looks like an accident (a wrong
    type resets a map to nothing): they are held until one of them is back or an admin confirms.

    Args:
        met: Keys that a conversation has had. Another one was a typo and its loss is none, if the
            map names private conversations now: its owner has corrected it. None counts all as met.
        accounts: The bot accounts that exist now: a key of another one is back, too, once the same
            conversation is mapped under an account that does. None where they are unknown.
    """
    before = frozenset(map(canonical_key, former))
    missing = frozenset(map(canonical_key, lost))
    now = private_keys(scope_map)
    losable = before if met is None or not now else before.intersection(met)
    if met is not None and now:
        missing = missing.intersection(met)
    renamed = {without_account(key) for key in now}
    back = now | {
        key
        for key in before | missing
        if is_gone(key, accounts) and without_account(key) in renamed
    }
    if missing & back:
        missing = frozenset()
    elif not before & back:
        missing |= losable
    held = missing.difference(scope_map.entries)
    return MapHealth(held=held, lost=missing, remembered=now or before)


def odd_keys(
    scope_map: ScopeMap, seen: Iterable[str], accounts: Collection[str] | None = None
) -> list[OddKey]:
    """Keys that can match no conversation: no id at all, or one of a bot account that does not
    exist. A key whose conversation has an entry of its own does no harm, and one that is merely
    unseen is a conversation that has not spoken yet."""
    heard = frozenset(seen)
    spoken = [one for one in heard if is_conversation_key(one) and not is_gone(one, accounts)]
    found = []
    for key, value in scope_map.entries.items():
        unreadable = is_unreadable(key)
        if key in heard or not (unreadable or is_gone(key, accounts)):
            continue
        meant = meant_by(key, spoken)
        left = min(meant - scope_map.entries.keys(), default="")
        if meant and not left:
            continue
        fault = KeyFault.UNREADABLE if unreadable else KeyFault.ACCOUNT
        name = value.name if isinstance(value, Scope) else value.value
        found.append(OddKey(key, name, KeyFault.MEANT if left else fault, left))
    return found
