"""Which scope a conversation has: the one function that says so. Beside it, which ids are one
person's, and where an admin may move a memory to."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product

from ...errors import InvalidScope
from ...models.conversation import ConversationId, ConversationKind, is_well_formed
from ...models.resolution import Rebinding, Resolution
from ...models.scope import PUBLIC, PUBLIC_NAME, QUARANTINE_NAME, Scope
from ...models.settings import DmScope, GroupScope, Policies, ScopeMap
from ...text.normalising import clean
from .rebinding import names_of
from .scope_map import PERSONA_PREFIX, chat_of, is_persona_key, without_account, without_thread


def resolve(
    conversation_id: ConversationId,
    scope_map: ScopeMap,
    settings: Policies,
    rebound: Sequence[Rebinding] = (),
) -> Resolution:
    """The scope of a conversation: map, then persona, then policy, then public.

    The first key found decides, also when its value is illegal, and so does one that only seems to
    mean the conversation: a typo in a family's entry must not send the family's words to a wider
    scope.
    """
    if not is_well_formed(conversation_id.umo):
        return Resolution("malformed_id", value=conversation_id.umo)
    names = names_of(conversation_id, rebound)
    found = (
        _by_keys((key for name in names for key in _own_keys(name)), scope_map)
        or _by_doubtful_key(names, scope_map)
        or _by_keys(_persona_keys(conversation_id), scope_map)
    )
    if found is not None:
        return found
    if conversation_id.is_agent:
        return _agent(conversation_id, settings)
    no_persona = conversation_id.persona is None and any(map(is_persona_key, scope_map.entries))
    if conversation_id.hidden or no_persona:
        # The key of its group or persona, or a policy's scope, might be its own: public would
        # publish it.
        return Resolution("unknown_origin")
    found = _by_policy(names, settings)
    if scope_map.withheld and found.scope in (PUBLIC, ALL_PRIVATE_CHATS):
        return Resolution("map_withheld")
    return found


def _by_keys(keys: Iterable[str], scope_map: ScopeMap) -> Resolution | None:
    """What the first key says that the map has."""
    for key in keys:
        entry = scope_map.entries.get(key)
        if isinstance(entry, Scope):
            return Resolution("mapped", key, entry.name, entry)
        if entry is not None:
            return Resolution("illegal_name", key, entry)
    return None


def _by_doubtful_key(names: Sequence[ConversationId], scope_map: ScopeMap) -> Resolution | None:
    """For a conversation that no key matches: reading only, if a key that can match none seems to
    mean it: one on a bot account that is gone, or one that is no conversation id."""
    own = {without_account(key) for name in names for key in _own_keys(name)}
    gone = (key for key in scope_map.gone if without_account(key) in own)
    unreadable = (k for k in scope_map.unreadable if any(seems_to_mean(k, one) for one in names))
    key = min(gone, default="") or min(unreadable, default="")
    return Resolution("doubtful_key", key) if key else None


def seems_to_mean(key: str, conversation_id: ConversationId) -> bool:
    """True if an id of the conversation's group or person stands in an unreadable ``key`` as a
    whole: 777 stands in ``777`` and ``qq:grp:777``, not in ``7770``."""
    ids = (conversation_id.session, conversation_id.group, conversation_id.peer)
    own = {part.lstrip("-") for one in ids if one for part in (one, chat_of(one))}
    edge = "[0-9A-Za-z]"
    return any(re.search(f"(?<!{edge}){re.escape(one)}(?!{edge})", key) for one in own if one)


def _own_keys(conversation_id: ConversationId) -> list[str]:
    """Keys of the conversation itself, the most exact first."""
    umo, kind = conversation_id.umo, conversation_id.kind
    if kind is ConversationKind.PRIVATE or conversation_id.is_agent:
        return [umo]
    # ``tg:GroupMessage:-100#7`` (a topic) belongs to ``tg:GroupMessage:-100``.
    keys = [umo, without_thread(umo)]
    if conversation_id.group and kind is ConversationKind.GROUP:
        own = f"{conversation_id.account}:{kind}:{conversation_id.group}"
        keys += [own, without_thread(own)]
    return keys


def _persona_keys(conversation_id: ConversationId) -> list[str]:
    """At most one. Of a hidden conversation the group's own key would come first."""
    key = clean(f"{PERSONA_PREFIX}{conversation_id.persona}")  # as the map's keys are
    there = conversation_id.persona and not conversation_id.hidden and is_persona_key(key)
    return [key] if there else []


def _by_policy(names: Sequence[ConversationId], settings: Policies) -> Resolution:
    """What the first name that the conversation had derives, which is the last of ``names``."""
    where = names[-1]
    if where.kind is ConversationKind.OTHER:
        return _unknown_kind(where, settings)
    policy: DmScope | GroupScope | None = settings.group_scope
    code, setting = "group_policy", "group_scope"
    if where.kind is ConversationKind.PRIVATE:
        accounts = settings.dm_scope_by_account or {}
        own = (name.account for name in names if name.account in accounts)
        account = next(own, where.account)
        policy = settings.dm_policy(account)
        code, setting = "dm_policy", settings.dm_setting(account)
    if policy is None:
        return Resolution("unknown_policy", setting)
    scope = {PUBLIC_NAME: PUBLIC, str(DmScope.MAIN): ALL_PRIVATE_CHATS}.get(policy)
    if scope is None and not where.adapter:
        return Resolution("malformed_id", policy)
    if scope is None and where.kind is ConversationKind.GROUP:
        scope = _of_group(where, policy)
    found = scope or _of_person(where, policy, settings.identity_links)
    return Resolution(code, policy, setting, found)


def _of_person(where: ConversationId, policy: str, links: Mapping[str, str]) -> Scope:
    adapter = where.adapter or ""
    if not where.peer:
        return _derive("dm", "nobody", ["umo", where.umo])
    link = links.get(f"{adapter}:{where.peer}")
    person = ["link", link] if link else ["id", adapter, where.peer]
    alone = {DmScope.PER_CHANNEL_PEER: [adapter], DmScope.PER_PEER: list[str]()}
    within = alone.get(DmScope(policy), [where.account, adapter])
    shown = "-".join([*within, link or where.peer])
    return _derive("dm", shown, [policy, *within, *person])


def _of_group(where: ConversationId, policy: str) -> Scope:
    if not where.group:
        return _derive("group", "unnamed", ["umo", where.umo])
    # A topic shares its group's scope: both are the same people, and the map works that way, too.
    chat = chat_of(where.group)
    return _derive("group", chat, [policy, where.account, chat])


def _agent(conversation_id: ConversationId, settings: Policies) -> Resolution:
    """What no policy for people reaches: to a bot, public is what everybody reads."""
    _, level, name = conversation_id.umo.split(":", 2)
    if not settings.scope_per_project or level not in ("project", "global"):
        return Resolution("agent_unmapped", conversation_id.umo)
    scope = project_scope(name) if level == "project" else PUBLIC
    return Resolution("agent_policy", scope=scope)


def project_scope(name: str) -> Scope:
    """Returns ``project-<name>``, or one with a hash where that is no legal name."""
    try:
        return Scope.parse(f"project-{name}")
    except InvalidScope:
        return _derive("project", name, ["project", name])


def _unknown_kind(conversation_id: ConversationId, settings: Policies) -> Resolution:
    policies = settings.dm_policy(conversation_id.account), settings.group_scope
    own = _derive("dm", "unknown", ["kind", conversation_id.umo])
    is_public = policies == (DmScope.PUBLIC, GroupScope.PUBLIC)
    return Resolution("unknown_kind", scope=PUBLIC if is_public else own)


def _derive(prefix: str, shown: str, payload: list[str]) -> Scope:
    """``<prefix>-<readable>-<hash>``: stable, legal, and different for different payloads. The hash
    is over a JSON list, so that parts cannot run into one another, in lower-case base32: it
    survives file systems that fold case."""
    digest = hashlib.sha256(json.dumps([prefix, *payload], ensure_ascii=True).encode()).digest()
    tag = base64.b32encode(digest).decode().lower()[:16]
    slug = re.sub(r"[^a-zA-Z0-9\u4e00-\u9fff_]+", "-", shown)[:40].strip("-")
    return Scope.parse(f"{prefix}-{slug}-{tag}" if slug else f"{prefix}-{tag}", derived=True)


ALL_PRIVATE_CHATS = _derive("dm", "main", ["main"])
"""What all unmapped private chats share under ``DmScope.MAIN``: the scope of no single person."""


def derived_scopes(
    conversation_id: ConversationId, links: Mapping[str, str], rebound: Sequence[Rebinding]
) -> frozenset[Scope]:
    """Every private scope that some policy derives for a conversation under any of its names, with
    its identity link and without."""
    names = names_of(conversation_id, rebound)
    found = (
        _by_policy([name], Policies(dm_scope=dm, group_scope=group, identity_links=linked))
        for name, linked, dm, group in product(names, (links, {}), DmScope, GroupScope)
    )
    return frozenset(one.scope for one in found if one.scope and not one.scope.is_public)


def as_derived(name: str) -> Scope | None:
    """The scope that a policy derived under this name; None for a name that none derives."""
    derived = name.startswith(("dm-", "group-"))
    return Scope.parse(name, derived=True) if derived else None


def ids_of(person: str, links: Mapping[str, str]) -> frozenset[str]:
    """The ids that one person speaks under, by the owner's links; none for an empty id."""
    if not person:
        return frozenset()
    own = links.get(person, person)
    return frozenset((person, own, *(one for one, linked in links.items() if linked == own)))


def target_scope(name: str, known: Collection[str]) -> Scope | None:
    """The scope that an admin names, None if there is none of that name: a typo must not make one
    that no conversation reads. ``known``: those that have a folder or stand in the map."""
    if name == QUARANTINE_NAME or name not in {*known, PUBLIC_NAME}:
        return None
    return Scope.parse(name, derived=True)
