"""Which scope a conversation has: the one function that says so."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator

from ..models.conversation import ConversationId, ConversationKind
from ..models.resolution import ReadPublicOnly, Refused, Resolution, Usable, Why, WhyCode
from ..models.scope import PUBLIC, Scope
from ..models.settings import DmScope, GroupScope, IllegalName, ScopeSettings
from .scope_map import PERSONA_PREFIX, UNKNOWN_KEYS, is_persona_key


def resolve(conversation_id: ConversationId, settings: ScopeSettings) -> Resolution:
    """The scope of a conversation: map, then persona, then policy, then public.

    The first key found decides, also when its value is illegal or on hold: a typo in a family's
    entry must not send the family's words to a wider scope.
    """
    parts = conversation_id.umo.split(":", 2)
    if len(parts) != 3 or not all(part.strip() for part in parts):
        return Refused(Why(WhyCode.MALFORMED_ID, value=conversation_id.umo))
    for code, key in _candidates(conversation_id):
        entry = settings.scope_map.entries.get(key)
        if isinstance(entry, Scope):
            return Usable(entry, Why(code, key, entry.name))
        if isinstance(entry, IllegalName):
            return ReadPublicOnly(Why(WhyCode.ILLEGAL_NAME, key, entry.value))
        if key in settings.scope_map.held:
            return ReadPublicOnly(Why(WhyCode.MAP_DAMAGED, key))
    if conversation_id.hidden:
        # Its group's key, or a policy's scope, might be its own: public would publish it.
        return ReadPublicOnly(Why(WhyCode.UNKNOWN_ORIGIN))
    if conversation_id.persona is None and _maps_personas(settings):
        # One of these keys might be this conversation's: guessing "none" would publish it.
        return ReadPublicOnly(Why(WhyCode.UNKNOWN_PERSONA))
    found = _by_policy(conversation_id, settings)
    widest = isinstance(found, Usable) and found.scope.is_public
    if widest and UNKNOWN_KEYS in settings.scope_map.held:
        return ReadPublicOnly(Why(WhyCode.MAP_UNKNOWN))
    return found


def _maps_personas(settings: ScopeSettings) -> bool:
    keys = {*settings.scope_map.entries, *settings.scope_map.held}
    return any(is_persona_key(key) for key in keys)


def _candidates(conversation_id: ConversationId) -> Iterator[tuple[WhyCode, str]]:
    """Map keys to try, the most exact first."""
    umo, group = conversation_id.umo, conversation_id.group
    yield WhyCode.MAPPED, umo
    if conversation_id.kind is not ConversationKind.PRIVATE:
        yield from _parents(umo)
        if group and conversation_id.kind is ConversationKind.GROUP:
            own = f"{conversation_id.account}:{ConversationKind.GROUP}:{group}"
            if own != umo:
                yield WhyCode.MAPPED_GROUP, own
                yield from _parents(own)
    persona_key = f"{PERSONA_PREFIX}{conversation_id.persona}"
    if conversation_id.hidden:
        return  # the group's own key would come before the persona's
    if conversation_id.persona and is_persona_key(persona_key):
        yield WhyCode.MAPPED_PERSONA, persona_key


def _parents(key: str) -> Iterator[tuple[WhyCode, str]]:
    """``tg:GroupMessage:-100#7`` (a topic) belongs to ``tg:GroupMessage:-100``."""
    account, kind, session = key.split(":", 2)
    chat = _chat_of(session)
    if chat != session:
        yield WhyCode.MAPPED_PARENT, f"{account}:{kind}:{chat}"


def _chat_of(session: str) -> str:
    """``-100`` for ``-100#7``. What only begins with the mark (``#general``) is a whole id."""
    chat, _, thread = session.rpartition("#")
    return chat if chat and thread else session


def _by_policy(conversation_id: ConversationId, settings: ScopeSettings) -> Resolution:
    match conversation_id.kind:
        case ConversationKind.PRIVATE:
            return _private(conversation_id, settings)
        case ConversationKind.GROUP:
            return _group(conversation_id, settings)
        case ConversationKind.OTHER:
            return _unknown_kind(conversation_id, settings)


def _private(conversation_id: ConversationId, settings: ScopeSettings) -> Resolution:
    account = conversation_id.account
    policy, setting = settings.dm_policy(account), settings.dm_setting(account)
    if policy is None:
        return ReadPublicOnly(Why(WhyCode.UNKNOWN_POLICY, setting))
    why = Why(WhyCode.DM_POLICY, policy, setting)
    if policy is DmScope.PUBLIC:
        return Usable(PUBLIC, why)
    if policy is DmScope.MAIN:
        return Usable(ALL_PRIVATE_CHATS, why)
    adapter, peer = conversation_id.adapter, conversation_id.peer
    if not adapter:
        return Refused(Why(WhyCode.NO_ADAPTER, policy))
    if not peer:
        return Usable(_derive("dm", "nobody", ["umo", conversation_id.umo]), why)
    link = settings.identity_links.get(f"{adapter}:{peer}")
    person, shown = (["link", link], link) if link else (["id", adapter, peer], peer)
    match policy:
        case DmScope.PER_PEER:
            return Usable(_derive("dm", shown, [policy, *person]), why)
        case DmScope.PER_CHANNEL_PEER:
            return Usable(_derive("dm", f"{adapter}-{shown}", [policy, adapter, *person]), why)
        case DmScope.PER_ACCOUNT_CHANNEL_PEER:
            payload = [policy, account, adapter, *person]
            return Usable(_derive("dm", f"{account}-{adapter}-{shown}", payload), why)


def _group(conversation_id: ConversationId, settings: ScopeSettings) -> Resolution:
    policy = settings.group_scope
    if policy is None:
        return ReadPublicOnly(Why(WhyCode.UNKNOWN_POLICY, "group_scope"))
    why = Why(WhyCode.GROUP_POLICY, policy)
    if policy is GroupScope.PUBLIC:
        return Usable(PUBLIC, why)
    if not conversation_id.adapter:
        return Refused(Why(WhyCode.NO_ADAPTER, policy))
    group = conversation_id.group
    if not group:
        return Usable(_derive("group", "unnamed", ["umo", conversation_id.umo]), why)
    # A topic shares its group's scope: both are the same people, and the map works that way, too.
    chat = _chat_of(group)
    return Usable(_derive("group", chat, [policy, conversation_id.account, chat]), why)


def _unknown_kind(conversation_id: ConversationId, settings: ScopeSettings) -> Resolution:
    private = settings.dm_policy(conversation_id.account)
    if private is DmScope.PUBLIC and settings.group_scope is GroupScope.PUBLIC:
        return Usable(PUBLIC, Why(WhyCode.DEFAULT))
    own = _derive("dm", "unknown", ["kind", conversation_id.umo])
    return Usable(own, Why(WhyCode.UNKNOWN_KIND))


_HASH_CHARS = 16
_SLUG_CHARS = 40


def _derive(prefix: str, shown: str, payload: list[str]) -> Scope:
    """``<prefix>-<readable>-<hash>``: stable, legal, and different for different payloads.

    The hash is the first 80 bits of SHA-256 over the payload as a JSON list (so that parts cannot
    run into one another), in lower-case base32: it survives file systems that fold case.
    """
    digest = hashlib.sha256(json.dumps([prefix, *payload], ensure_ascii=True).encode()).digest()
    tag = base64.b32encode(digest).decode().lower()[:_HASH_CHARS]
    slug = re.sub(r"[^a-zA-Z0-9\u4e00-\u9fff_]+", "-", shown)[:_SLUG_CHARS].strip("-")
    return Scope.parse(f"{prefix}-{slug}-{tag}" if slug else f"{prefix}-{tag}", derived=True)


ALL_PRIVATE_CHATS = _derive("dm", "main", ["main"])
"""What all unmapped private chats share under ``DmScope.MAIN``: the scope of no single person."""
