"""Reading ``conversation_scope_map`` and changing one conversation's entry in it: which entries are
legal, which conversation a key means as people write it; and whether all of it is lost, beside what
the maps before it said, the scopes that have a folder, and the bot accounts that exist. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Final

from ...errors import InvalidScope
from ...models.conversation import AGENT_ACCOUNT, ConversationId, ConversationKind, is_well_formed
from ...models.scope import PUBLIC, PUBLIC_NAME, Scope
from ...models.settings import MapPast, ScopeMap
from ...models.status import Notice
from ...text.normalising import clean
from ...text.scripts import fold

PERSONA_PREFIX: Final = "persona:"
_KINDS: Final = {str(kind).lower(): kind for kind in ConversationKind} | {
    "group": ConversationKind.GROUP,
    "friend": ConversationKind.PRIVATE,
}


def read_scope_map(raw: Mapping[str, object], folders: Collection[str]) -> ScopeMap:
    """Check each entry. A name that differs only in case from a scope's folder, or else from an
    earlier entry, is illegal: on a disk that folds case the two would be one. Of two spellings of a
    key AstrBot's own wins."""
    taken = {folder.lower(): folder for folder in sorted(folders)} | {PUBLIC_NAME: PUBLIC_NAME}
    entries: dict[str, Scope | str] = {}
    for written, key, value in entries_of(raw):
        if key != written and key in raw:
            continue
        try:
            scope = Scope.parse(value)
        except InvalidScope:
            entries[key] = str(value)
            continue
        known = taken.setdefault(scope.name.lower(), scope.name)
        entries[key] = scope if scope.name == known or scope.name in folders else scope.name
    unreadable = (key for key, one in entries.items() if is_unreadable(key) and one != PUBLIC)
    return ScopeMap(MappingProxyType(entries), frozenset(unreadable))


def entries_of(raw: Mapping[str, object]) -> Iterator[tuple[str, str, object]]:
    """Each entry: its key as it is written, its key as AstrBot writes it, and its value. Both come
    without what pasting brings along: blanks and invisible characters."""
    for written, value in raw.items():
        named = clean(value) if isinstance(value, str) else value
        yield written, canonical_key(clean(str(written))), named


def entry_of(raw: Mapping[str, object], conversation_id: ConversationId) -> str | None:
    """What the raw map says beside a key of the conversation's own; None for nothing."""
    own = {conversation_id.map_key, conversation_id.umo}
    return next((str(value) for _, key, value in entries_of(raw) if key in own), None)


def with_entry(
    raw: Mapping[str, object], conversation_id: ConversationId, name: str | None
) -> dict[str, object]:
    """The raw map in which the conversation has this scope, or no entry of its own for None. All
    other entries stay as they were written."""
    own = {conversation_id.map_key, conversation_id.umo}
    kept = {written: raw[written] for written, key, _ in entries_of(raw) if key not in own}
    return kept if name is None else {**kept, conversation_id.map_key: name}


def with_renamed(
    raw: Mapping[str, object], old: str, new: str
) -> tuple[dict[str, object], frozenset[str]]:
    """The raw map in which what gave the scope ``old`` gives ``new``, and the keys of that."""
    moved = {written: key for written, key, value in entries_of(raw) if value == old}
    return {**raw, **dict.fromkeys(moved, new)}, frozenset(moved.values())


def near_name(name: str, known: Iterable[str]) -> str:
    """The known name that was meant by another one that differs in case, width or one letter, or
    has its letters in another order; empty for none. Numbers tell things of one kind apart."""
    return next((one for one in sorted(known) if one != name and _is_near(name, one)), "")


def _is_near(name: str, known: str) -> bool:
    one, other = fold(name), fold(known)
    steps = SequenceMatcher(None, one, other).get_opcodes()
    changed = [(one[i:j], other[k:m]) for step, i, j, k, m in steps if step != "equal"]
    a_letter = len(steps) > len(changed) == 1 and max(map(len, changed[0])) == 1
    numbers = any(sign.isnumeric() for pair in changed for sign in "".join(pair))
    return not numbers and (a_letter or sorted(one) == sorted(other))


def canonical_key(key: str) -> str:
    """``key`` as AstrBot writes it: ``qq:group:77`` is ``qq:GroupMessage:77``. Anything but its
    middle part stays as it is."""
    account, _, rest = key.partition(":")
    written, _, session = rest.partition(":")
    kind = _KINDS.get(written.lower())
    known = kind is not None and account and session and not is_persona_key(key)
    return f"{account}:{kind}:{session}" if known else key


def account_of(key: str) -> str:
    return key.partition(":")[0]


def without_account(key: str) -> str:
    return key.partition(":")[2]


def without_thread(key: str) -> str:
    """``tg:GroupMessage:-100`` for a topic of it, ``tg:GroupMessage:-100#7``."""
    account, kind, session = key.split(":", 2)
    return f"{account}:{kind}:{chat_of(session)}"


def chat_of(session: str) -> str:
    """``-100`` for ``-100#7``, a thread of it. What only begins with the mark (``#general``) is a
    whole id."""
    chat, _, thread = session.rpartition("#")
    return chat if chat and thread else session


def is_conversation_key(key: str) -> bool:
    """True for ``<account>:<known message type>:<session>``."""
    parts = key.split(":", 2)
    return len(parts) == 3 and all(parts) and parts[1] in {kind.value for kind in ConversationKind}


def is_persona_key(key: str) -> bool:
    """True for ``persona:<id>``. An account called ``persona`` keeps its conversations."""
    named = key.removeprefix(PERSONA_PREFIX)
    return named != key and bool(named) and not is_conversation_key(key)


def is_unreadable(key: str) -> bool:
    """True for what is the key of no conversation, persona or agent (``mcp:project:<name>``). A
    blank beside a separator is none that AstrBot writes."""
    agent = account_of(key) == AGENT_ACCOUNT and is_well_formed(key)
    plain = all(part == part.strip() for part in key.split(":", 2))
    return not is_persona_key(key) and not (plain and (agent or is_conversation_key(key)))


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


def map_notices(
    scope_map: ScopeMap, folders: Set[str], meant: Mapping[str, str]
) -> Iterator[Notice]:
    """All that is wrong with the map now. ``meant``: for keys that match no conversation one that
    has spoken and that they seem to mean."""
    here = _anywhere(scope_map.entries.keys() - scope_map.gone)
    gone = () if scope_map.withheld else scope_map.gone
    odd = scope_map.unreadable.union(key for key in gone if without_account(key) not in here)
    for key, value in scope_map.entries.items():
        params = {"key": key, "value": str(value)}
        if isinstance(value, str):
            yield Notice("map_illegal_name", key, params)
        near = meant.get(key)
        if key in odd and near not in scope_map.entries:  # else it has a key of its own by now
            near = f"{near} → {value}" if near else "?"
            yield Notice("map_odd_key", key, {**params, "meant": near})
    if scope_map.withheld:
        missing = folders - {*_private_scopes(scope_map).values()}
        lists = {"scopes": missing, "accounts": {*map(account_of, scope_map.gone)}}
        params = {name: "、".join(sorted(some)) or "-" for name, some in lists.items()}
        yield Notice("map_damaged", params=params, error=True)
