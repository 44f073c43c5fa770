"""The owner's map beside what the maps before it said, the scopes that have a folder, and the bot
accounts that exist: whether all of it is lost, and what its owner is told of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

from ...models.scope import PUBLIC, Scope
from ...models.settings import MapPast, ScopeMap
from ...models.status import Notice
from .scope_map import account_of, is_conversation_key, without_account


def judge_map(
    scope_map: ScopeMap, past: MapPast, folders: Set[str], accounts: Set[str] | None
) -> tuple[ScopeMap, MapPast]:
    """The map with what is doubtful of it, and the past for the next comparison.

    To lose single entries is a decision. To lose all private ones looks like an accident (a folder
    came without its map), and so does a map whose private conversations are all on accounts that
    are gone (one was renamed): then everything is withheld that would fall to public or to all
    private chats, until a key or a scope of the lost ones is back or an admin says that it is
    meant. Beside an unknown past the scopes found are the lost.

    Args:
        folders: The scopes with a folder that only a map can name.
        accounts: The bot accounts that exist now, None where they are unknown: then none is gone.
    """
    named = _private_scopes(scope_map)
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
    private = {
        key for key in named if is_conversation_key(key) and account_of(key) not in past.released
    }
    if not past.keys | past.named:
        past = replace(past, named=frozenset(folders - past.scopes))
    back = past.named.intersection(named.values()) or _anywhere(past.keys) & _anywhere(named)
    lost = not back and bool(past.keys | past.named)
    withheld = lost or (bool(private) and private <= gone)
    if not lost:
        names = frozenset(named.values())
        past = replace(past, keys=frozenset(named), scopes=past.scopes | names, named=names)
    return replace(scope_map, gone=gone, withheld=withheld), past


def _private_scopes(scope_map: ScopeMap) -> dict[str, str]:
    """The keys that map to a private scope, with its name."""
    entries = scope_map.entries.items()
    return {key: one.name for key, one in entries if isinstance(one, Scope) and one != PUBLIC}


def _anywhere(keys: Iterable[str]) -> set[str]:
    """What the keys name, on whatever account."""
    return set(map(without_account, keys))


def map_notices(scope_map: ScopeMap, folders: Set[str]) -> Iterator[Notice]:
    """All that is wrong with the map now."""
    here = _anywhere(scope_map.entries.keys() - scope_map.gone)
    gone = () if scope_map.withheld else scope_map.gone
    odd = scope_map.unreadable.union(key for key in gone if without_account(key) not in here)
    for key, value in scope_map.entries.items():
        params = {"key": key, "value": str(value)}
        if isinstance(value, str):
            yield Notice("map_illegal_name", key, params)
        if key in odd:
            yield Notice("map_odd_key", key, params)
    if scope_map.withheld:
        missing = folders - {*_private_scopes(scope_map).values()}
        lists = {"scopes": missing, "accounts": {*map(account_of, scope_map.gone)}}
        params = {name: "、".join(sorted(some)) or "-" for name, some in lists.items()}
        yield Notice("map_damaged", params=params, error=True)
