"""What the map does not reach: keys of bot accounts that are gone, scopes that no key names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from ...models.scope import Scope
from ...models.settings import IllegalName, ScopeMap
from .map_keys import account_of, is_conversation_key, is_gone
from .scope_map import private_keys

ALL_FOLDERS: Final = " * "
"""On the list of known scopes: all that have a folder at the next start, for a former version knew
them and did not write them down. No scope has such a name."""


def named_scopes(scope_map: ScopeMap) -> frozenset[str]:
    """The private scopes that some key names."""
    private = private_keys(scope_map)
    return frozenset(
        value.name
        for key, value in scope_map.entries.items()
        if isinstance(value, Scope) and key in private
    )


@dataclass(frozen=True, slots=True)
class LostAccounts:
    """Keys of bot accounts that do not exist now, public ones aside. ``all_private``: no private
    conversation of the map is on an account that does."""

    keys: frozenset[str] = frozenset()
    all_private: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The accounts."""
        return frozenset(map(account_of, self.keys))


def lost_accounts(
    scope_map: ScopeMap, accounts: Collection[str] | None, released: Collection[str]
) -> LostAccounts:
    """Which keys of the map, those on hold included, name accounts that are gone.

    Args:
        accounts: The bot accounts that exist now; None where they are unknown, and then none is
            gone.
        released: Accounts of which an admin has said that they are gone for good.
    """
    private = {
        key
        for key in private_keys(scope_map) | scope_map.held
        if is_conversation_key(key) and account_of(key) not in released
    }
    illegal = {key for key, value in scope_map.entries.items() if isinstance(value, IllegalName)}
    gone = {
        key
        for key in private | illegal
        if is_gone(key, accounts) and account_of(key) not in released
    }
    return LostAccounts(frozenset(gone), bool(private) and private <= gone)
