"""What the map does not reach: keys of bot accounts that are gone, scopes that no key names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from ...models.data_models import StoredMemory
from ...models.scope import Scope
from ...models.settings import IllegalName, ScopeMap
from .map_keys import account_of, is_conversation_key, is_gone, without_account
from .scope_map import private_keys

ALL_FOLDERS: Final = " * "
"""On the list of known scopes: all that have a folder at the next start, for a former version knew
them and did not write them down. No scope has such a name."""
_WEB_CHAT: Final = "webchat"
"""The account of the panel's own chat: it takes no other's place."""


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


def repaired(
    scope_map: ScopeMap, lost: LostAccounts, accounts: Collection[str], seen: Collection[str]
) -> dict[str, str]:
    """New keys for lost ones, each with its scope. Where it cannot be told which account is meant,
    there is one for each; where the map knows no scope any more, there is nothing to offer."""
    return {
        renewed: value.name
        for key in sorted(lost.keys)
        if isinstance(value := scope_map.entries.get(key), Scope)
        for renewed in _renewed(key, accounts, seen)
    }


def likely_keys(
    memories: Iterable[StoredMemory],
    scopes: Collection[str],
    accounts: Collection[str] | None,
    seen: Collection[str],
) -> dict[str, str]:
    """A key for each conversation that said most of its memories in one of these scopes, with that
    scope. Looks at every memory."""
    said: dict[str, Counter[str]] = {}
    for stored in memories:
        where = stored.memory.provenance.conversation
        if is_conversation_key(where):
            said.setdefault(where, Counter())[stored.scope.name] += 1
    offered: dict[str, str] = {}
    for where in sorted(said):
        ((scope, _),) = said[where].most_common(1)
        if scope in scopes:
            gone = accounts is not None and is_gone(where, accounts)
            for key in _renewed(where, accounts or (), seen) if gone else [where]:
                offered.setdefault(key, scope)
    return offered


def _renewed(key: str, accounts: Collection[str], seen: Collection[str]) -> list[str]:
    """The same conversation on the account that has taken the place of a lost one, or on each that
    may have."""
    beside = without_account(key)
    keys = [f"{account}:{beside}" for account in sorted(accounts) if account != _WEB_CHAT]
    return [one for one in keys if one in seen] or keys
