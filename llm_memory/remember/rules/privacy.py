"""Finds and hides private data in a draft.

Judgment, reasoning, tags, questions and context are treated alike. Private data in a speaker's name
is always hidden: it is no reason to refuse the draft.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ...models.data_models import MemoryDraft, PrivateKind, Reason, Refused
from ...models.settings import PrivacyMode
from .private_keys import Span, keys, numbers, passwords, searchable

Finder = Callable[[str], Sequence[Span]]
"""Returns the spans of private data in a text."""

HIDDEN = {
    PrivateKind.PRIVATE_KEY: ("[私钥已隐藏]", "[private key hidden]"),
    PrivateKind.TOKEN: ("[密钥已隐藏]", "[token hidden]"),
    PrivateKind.PASSWORD: ("[密码已隐藏]", "[password hidden]"),
    PrivateKind.CARD: ("[银行卡号已隐藏]", "[card number hidden]"),
    PrivateKind.ID_NUMBER: ("[身份证号已隐藏]", "[ID number hidden]"),
    PrivateKind.PHONE: ("[电话号码已隐藏]", "[phone number hidden]"),
}
"""The placeholder of each kind, in Chinese and in English."""

_HAN = re.compile("[\u3400-\u9fff]")
_RANK = {kind: rank for rank, kind in enumerate(PrivateKind)}
# Words that only name what was hidden, its lock or its owner: "my phone is" is not worth a memory.
_ITS_NAME = re.compile(
    r"手机|电话|银行卡|身份证|密码|口令|密钥|私钥|号码|账号|卡号|号|我们?|的|是|为|"
    r"门锁|门禁|[大房]门|保险[柜箱]|开[门机]|验证|校验|动态|激活|提取|取件|解锁|锁屏|登录|码|"
    r"[改换设]成?了?|现在|"
    r"\b(?:my|our|the|mobile|cell|phone|telephone|bank|credit|card|id|pass(?:word|code|phrase)|"
    r"token|key|number|is|now|door|gate|alarm|safe|lock|access|security|verification|login|code|"
    r"combination|pin|otp|ssn|iban|passport|social|pw|no|s)\b",
    re.IGNORECASE,
)
_MARKS = tuple(mark for marks in HIDDEN.values() for mark in marks)


def find(text: str, more: Iterable[Span] = ()) -> tuple[Span, ...]:
    """Returns the private data in a text, from left to right, without overlaps.

    ``more``: spans from other finders. Of two overlapping spans the graver kind is taken (see
    PrivateKind), over the range of both.
    """
    plain = searchable(text)
    found = sorted((*keys(plain), *passwords(plain), *numbers(plain), *more), key=lambda s: s[1])
    merged: list[Span] = []
    for kind, start, end in found:
        if merged and start < merged[-1][2]:
            known, since, until = merged[-1]
            merged[-1] = (min(known, kind, key=_RANK.__getitem__), since, max(until, end))
        else:
            merged.append((kind, start, end))
    return tuple(merged)


def hide(text: str, found: Iterable[Span], *, chinese: bool) -> str:
    """Returns ``text`` with a placeholder for each span found."""
    pieces, at = [], 0
    for kind, start, end in found:
        pieces += [text[at:start], HIDDEN[kind][0 if chinese else 1]]
        at = end
    return "".join([*pieces, text[at:]])


def without_private(text: str, mode: PrivacyMode, finder: Finder = find) -> str:
    """Returns ``text`` with private data hidden, also in the mode that refuses drafts."""
    if mode is PrivacyMode.OFF:
        return text
    return hide(text, finder(text), chinese=_HAN.search(text) is not None)


@dataclass(frozen=True, slots=True)
class Protected:
    """A draft that may be stored, and what was hidden in it."""

    draft: MemoryDraft
    hidden: tuple[PrivateKind, ...] = ()


def protect(draft: MemoryDraft, mode: PrivacyMode, finder: Finder = find) -> Protected | Refused:
    """Returns the draft without private data, or why it is rejected.

    A draft without any content besides private data is rejected in either mode.
    """
    if mode is PrivacyMode.OFF:
        return Protected(draft)
    kinds: dict[PrivateKind, None] = {}
    chinese = _HAN.search(draft.judgment + draft.reasoning) is not None

    def without(text: str) -> str:
        found = finder(text)
        kinds.update((kind, None) for kind, _, _ in found)
        return hide(text, found, chinese=chinese)

    cleared = replace(
        draft,
        judgment=without(draft.judgment),
        reasoning=without(draft.reasoning),
        tags=tuple(dict.fromkeys(without(tag) for tag in draft.tags)),
        asks=tuple(dict.fromkeys(without(ask) for ask in draft.asks)),
        context=without(draft.context),
    )
    refused = bool(kinds) and (mode is PrivacyMode.REJECT or not _says_more(cleared.judgment))
    if refused:
        return Refused(Reason.PRIVATE, private=tuple(kinds))
    if draft.actor is not None:
        name = draft.actor.name
        name = hide(name, finder(name), chinese=chinese)
        cleared = replace(cleared, actor=replace(draft.actor, name=name))
    return Protected(cleared, tuple(kinds))


def _says_more(judgment: str) -> bool:
    rest = judgment
    for mark in _MARKS:
        rest = rest.replace(mark, " ")
    return any(letter.isalnum() for letter in _ITS_NAME.sub(" ", rest))
