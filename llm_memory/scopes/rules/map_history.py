"""The owner's map beside what the maps before it said, the scopes that have a folder, and the bot
accounts that exist: what it has lost, and what its owner is told of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Final

from ...models.scope import PUBLIC, Scope
from ...models.settings import IllegalName, MapPast, ScopeMap
from ...models.status import Notice
from .scope_map import account_of, is_conversation_key, without_account

OF_THE_MAP: Final = frozenset(
    {
        "map_wrong_type",
        "map_illegal_name",
        "map_odd_key",
        "map_damaged",
        "map_accounts_gone",
    }
)


def judge_map(
    scope_map: ScopeMap, past: MapPast, folders: Set[str], accounts: Set[str] | None
) -> tuple[ScopeMap, MapPast]:
    """The map with what is doubtful of it, and the past for the next comparison.

    To lose single entries is a decision. To lose all private ones looks like an accident (a wrong
    type resets a map to nothing, a folder came without its map), and so does a map whose private
    conversations are all on accounts that are gone (one was renamed): then everything is withheld
    that would fall to public or to all private chats, until a key or a scope of the lost ones is
    back or an admin says that it is meant. Beside an unknown past the scopes found are the lost.

    Args:
        folders: The scopes with a folder that only a map can name.
        accounts: The bot accounts that exist now, None where they are unknown: then none is gone.
    """
    named = private_scopes(scope_map)
    past = replace(past, released=past.released.difference(accounts or ()))
    alive = None if accounts is None else accounts | past.released
    gone = frozenset(
        key
        for key, one in scope_map.entries.items()
        if alive is not None
        and is_conversation_key(key)
        and account_of(key) not in alive
        and one != PUBLIC
    )
    private = {key for key in named if is_conversation_key(key)}
    private = {key for key in private if account_of(key) not in past.released}
    if not past.keys | past.named:
        past = replace(past, named=frozenset(folders - past.scopes))
    back = past.named.intersection(named.values()) or _anywhere(past.keys) & _anywhere(named)
    lost = not back and bool(past.keys | past.named)
    judged = replace(scope_map, gone=gone, lost=lost, all_gone=bool(private) and private <= gone)
    return judged, past if lost else _remembered(past, named)


def _remembered(past: MapPast, named: dict[str, str]) -> MapPast:
    names = frozenset(named.values())
    return replace(past, keys=frozenset(named), scopes=past.scopes | names, named=names)


def confirmed(scope_map: ScopeMap, past: MapPast, folders: Set[str]) -> MapPast:
    """The past once an admin has said that the map is meant as it is."""
    past = _remembered(past, private_scopes(scope_map))
    released = past.released.union(map(account_of, scope_map.gone))
    return replace(past, scopes=past.scopes | folders, released=released)


def private_scopes(scope_map: ScopeMap) -> dict[str, str]:
    """The keys that map to a private scope, with its name."""
    entries = scope_map.entries.items()
    return {key: one.name for key, one in entries if isinstance(one, Scope) and one != PUBLIC}


def _anywhere(keys: Iterable[str]) -> set[str]:
    """What the keys name, on whatever account."""
    return set(map(without_account, keys))


def map_notices(
    scope_map: ScopeMap, folders: Set[str], accounts: Set[str] | None, meant: Mapping[str, str]
) -> Iterator[Notice]:
    """All that is wrong with the map now. ``meant``: for keys that match no conversation one that
    has spoken and that they seem to mean."""
    here = _anywhere(scope_map.entries.keys() - scope_map.gone)
    gone = set[str]() if scope_map.all_gone else scope_map.gone
    odd = scope_map.unreadable.union(key for key in gone if without_account(key) not in here)
    for key, value in scope_map.entries.items():
        if isinstance(value, IllegalName):
            params = {"key": key, "value": value.value, "fault": str(value.fault)}
            yield Notice("map_illegal_name", key, params)
        near = meant.get(key)
        if key in odd and near not in scope_map.entries:  # else it has a key of its own by now
            name = scope_map.written(key)
            params = {"key": key, "value": name, "meant": f"{near} → {name}" if near else "?"}
            yield Notice("map_odd_key", key, params)
    if scope_map.lost:
        missing = folders - {*private_scopes(scope_map).values()}
        params = {"scopes": _list(missing) or "-"}
        yield Notice("map_damaged", params=params, error=True)
    if scope_map.all_gone:
        lost, present = _list(map(account_of, scope_map.gone)), _list(accounts or ())
        params = {"accounts": lost, "present": present}
        yield Notice("map_accounts_gone", params=params, error=True)


def _list(names: Iterable[str]) -> str:
    return "、".join(sorted(set(names)))
