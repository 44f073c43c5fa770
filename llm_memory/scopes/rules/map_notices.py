"""What an owner is told of the map. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from ...models.resolution import WhyCode
from ...models.settings import IllegalName, ScopeMap
from ...models.status import Notice, NoticeCode, Severity
from .map_history import MapHealth, OddKey, odd_keys

OF_THE_MAP: Final = frozenset(
    {
        NoticeCode.MAP_WRONG_TYPE,
        NoticeCode.MAP_ILLEGAL_NAME,
        NoticeCode.MAP_ODD_KEY,
        NoticeCode.MAP_DAMAGED,
        NoticeCode.MAP_UNKNOWN,
        NoticeCode.MAP_ACCOUNTS_GONE,
    }
)


def map_notices(
    scope_map: ScopeMap,
    health: MapHealth,
    met: Collection[str],
    nearest: Mapping[str, Collection[str]],
    accounts: Collection[str] | None,
) -> Iterator[Notice]:
    """All that is wrong with it now. ``met``, ``nearest``: as of ``odd_keys``."""
    for key, value in scope_map.entries.items():
        if isinstance(value, IllegalName):
            params = {"key": key, "value": value.value, "fault": str(value.fault)}
            yield Notice(NoticeCode.MAP_ILLEGAL_NAME, key, params)
    all_gone = health.withheld is WhyCode.ACCOUNTS_GONE
    for odd in odd_keys(scope_map, met, nearest):
        if not (all_gone and odd.key in health.gone):  # told below, all of them
            yield odd_notice(odd)
    if health.held:
        yield _error(NoticeCode.MAP_DAMAGED, count=str(len(health.held)))
    if all_gone:
        lost, present = _list(health.lost_accounts), _list(accounts or ())
        yield _error(NoticeCode.MAP_ACCOUNTS_GONE, accounts=lost, present=present)
    if health.unnamed:
        yield _error(NoticeCode.MAP_UNKNOWN, scopes=_list(health.unnamed))


def odd_notice(odd: OddKey) -> Notice:
    """That a key reaches no conversation."""
    params = {"key": odd.key, "value": odd.value, "odd": str(odd.fault), "meant": odd.meant}
    return Notice(NoticeCode.MAP_ODD_KEY, odd.key, params)


def _error(code: NoticeCode, **params: str) -> Notice:
    return Notice(code, params=params, severity=Severity.ERROR)


def _list(names: Collection[str]) -> str:
    return "、".join(sorted(names))
