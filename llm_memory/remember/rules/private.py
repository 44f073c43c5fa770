"""Finds and hides private data in a draft: keys, tokens and passwords; card, identity and telephone
numbers, by their form and by the words before them. The patterns are in ``gate.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ...models.data_models import MemoryDraft, Refused
from ...models.settings import PrivacyMode
from ...text.numerals import narrowed
from ...text.scripts import simplified
from . import GATE

Span = tuple[str, int, int]
"""The kind, and the range ``[start, end)``."""

HIDDEN = {
    "private_key": ("[私钥已隐藏]", "[private key hidden]"),
    "token": ("[密钥已隐藏]", "[token hidden]"),
    "password": ("[密码已隐藏]", "[password hidden]"),
    "card": ("[银行卡号已隐藏]", "[card number hidden]"),
    "id_number": ("[身份证号已隐藏]", "[ID number hidden]"),
    "phone": ("[电话号码已隐藏]", "[phone number hidden]"),
}
"""The placeholder of each kind, in Chinese and in English; the gravest kind first."""
_HAN = re.compile("[\u3400-\u9fff]")


def find(text: str) -> tuple[Span, ...]:
    """Returns the private data in a text, from left to right: where two overlap, the graver kind
    over the range of both."""
    merged: list[Span] = []
    for kind, start, end in sorted(_found(text), key=lambda span: span[1]):
        if merged and start < merged[-1][2]:
            known, since, until = merged.pop()
            kind, start, end = min(known, kind, key=[*HIDDEN].index), since, max(until, end)
        merged.append((kind, start, end))
    return tuple(merged)


def hide(text: str, found: Iterable[Span]) -> str:
    """Returns ``text`` with a placeholder for each span found, in its own language."""
    pieces, at, language = [], 0, 0 if _HAN.search(text) else 1
    for kind, start, end in found:
        pieces += [text[at:start], HIDDEN[kind][language]]
        at = end
    return "".join([*pieces, text[at:]])


def without_private(text: str, mode: PrivacyMode) -> str:
    """Returns ``text`` with private data hidden, also in the mode that refuses drafts."""
    return text if mode is PrivacyMode.OFF else hide(text, find(text))


def protect(draft: MemoryDraft, mode: PrivacyMode) -> MemoryDraft | Refused:
    """Returns the draft without private data, or why it is rejected: in either mode where it says
    nothing else; in none for what a name holds, which is always hidden."""
    if mode is PrivacyMode.OFF:
        return draft
    kinds: dict[str, None] = {}

    def without(text: str) -> str:
        found = find(text)
        kinds.update((kind, None) for kind, _, _ in found)
        return hide(text, found)

    cleared = replace(
        draft,
        judgment=without(draft.judgment),
        reasoning=without(draft.reasoning),
        tags=tuple(dict.fromkeys(map(without, draft.tags))),
        asks=tuple(dict.fromkeys(map(without, draft.asks))),
        context=without(draft.context),
    )
    says_more = any(
        map(str.isalnum, GATE["names_of_private"].sub(" ", simplified(cleared.judgment)))
    )
    if kinds and (mode is PrivacyMode.REJECT or not says_more):
        return Refused("private", private=tuple(kinds))
    hidden, actor = tuple(kinds), draft.actor  # of a name it is not told
    if actor is not None:
        actor = replace(actor, name=without(actor.name))
    return replace(cleared, hidden=hidden, actor=actor)


_PLAIN = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u30fc", "-")
    | dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f", " ")
    | dict.fromkeys("“”„", '"')
    | dict.fromkeys("‘’", "'")
)
"""The many dashes and blanks that people put between digits."""
_NUMERALS = "零〇一幺壹二贰两三叁四肆五伍六陆七柒八捌九玖"
_SPOKEN = str.maketrans(_NUMERALS, "0011122233445566778899")
_RUN = re.compile(f"[{_NUMERALS}]{{6,}}")


def _found(text: str) -> Iterator[Span]:
    """What the patterns find in a text, in ASCII as far as it goes, and with digits for Chinese
    numerals in a row: their last group, or all that they match; of a password not what ends the
    sentence."""
    plain = narrowed(text).translate(_PLAIN)
    text = _RUN.sub(lambda match: match[0].translate(_SPOKEN), plain)
    for kind, names, is_one in _FORMS:
        for match in (match for name in names for match in GATE[name].finditer(text)):
            if is_one(match):
                start, end = match.span(match.lastindex or 0)
                if kind == "password":
                    end = start + len(text[start:end].rstrip(_EDGE))
                yield kind, start, end


_EDGE = "\"'`,.;:?()[]{}<>"


def _is_said(match: re.Match[str]) -> bool:
    """After "密码是" or "password is": True for a value with a digit or a sign, or for a word that
    ends the sentence and is no ordinary one there."""
    text, end, said = match.string, match.end("v"), match.groupdict()
    core = "" if GATE["masked"].fullmatch(said["v"].strip(",.;")) else said["v"].strip(_EDGE + "!")
    if len(core) < 3 or GATE["no_secret"].fullmatch(core.lower()):
        return False
    if core.isdigit():
        return len(core) >= 4 and GATE["units"].match(text, end) is None
    if said.get("q") or GATE["secret_sign"].search(core):
        return True
    least = 4 if said.get("is", ":") in (":", "=") else 5
    ordinary = GATE["no_name_of_secret"].match(said.get("name", "")) or core.endswith(("ed", "ing"))
    return len(core) >= least and not ordinary and bool(GATE["sentence_end"].match(text, end))


def _is_identity(match: re.Match[str]) -> bool:
    """True if the 18th character fits the 17 digits before it (GB 11643, ISO 7064 MOD 11-2)."""
    plain = re.sub(r"[ -]", "", match[0])
    total = sum(pow(2, 17 - place, 11) * int(digit) for place, digit in enumerate(plain[:17]))
    return "10X98765432"[total % 11] == plain[17].upper()


def _is_iban(match: re.Match[str]) -> bool:
    """True for the check digits of ISO 13616."""
    plain = match[0].replace(" ", "")
    return int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1


def _is_card(match: re.Match[str]) -> bool:
    """True if the last digit is the Luhn check digit of the others (ISO/IEC 7812-1, annex B), and
    words or an issuer's number tell of a card."""
    digits, ahead = re.sub(r"\D", "", match[0]), _before(match)
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    if sum(value - 9 if value > 9 else value for value in doubled) % 10:
        return False
    other = any(GATE[name].search(ahead) for name in ("other_number", "money_before"))
    issued = not other and GATE["card_issuer"].match(digits)
    return bool(issued or GATE["card_words"].search(ahead))


def _is_phone(match: re.Match[str]) -> bool:
    """True unless it is a day, a public hotline, or nothing around it calls it a telephone: without
    a ``+`` many other numbers look the same."""
    number, digits = match[0], re.sub(r"\D", "", match[0])
    if GATE["date_like"].match(number) or GATE["free_call"].match(digits) or not _is_own(match):
        return False
    said = GATE["phone_words"].search(_before(match)) or GATE["american"].fullmatch(number)
    return 7 <= len(digits) <= 15 and bool(said or "+" in number)


def _is_own(match: re.Match[str]) -> bool:
    """True unless the words around it call the number something else, it is an amount, or a name in
    an address. One in an international form or with its area code is taken for nothing else by a
    mere word beside it."""
    number, text, end = match[0], match.string, match.end()
    ahead = _before(match, 40)
    if GATE["money_before"].search(ahead) or GATE["not_own_behind"].match(text, end):
        return False
    named = GATE["beside_it"].sub("", ahead)
    if GATE["phone_named"].search(named):
        return True
    if GATE["round_number"].fullmatch(number):
        return False
    if "+" in number:
        return not (GATE["grouped"].fullmatch(number) and GATE["grown"].search(named))
    if "(" in number or GATE["phone_words"].search(_before(match)):
        return True
    if GATE["area_coded"].fullmatch(number):
        return not GATE["id_ahead"].search(named)
    return not (GATE["other_number"].search(named) or GATE["id_behind"].match(text, end))


def _before(match: re.Match[str], most: int = 20) -> str:
    """Returns the text before it in the same sentence: at most so many characters."""
    at = match.start()
    return re.split(r"[。！!？?；;\n]", match.string[max(at - most, 0) : at])[-1]


_FORMS: tuple[tuple[str, tuple[str, ...], Callable[[re.Match[str]], bool]], ...] = (
    ("private_key", ("private_key",), bool),
    ("token", ("token", "named_key", "key_inside"), bool),
    ("password", ("password_said", "password_named"), _is_said),
    ("password", ("password_beside", "pin", "cvv", "pin_beside"), bool),
    ("password", ("pass_phrase", "login"), bool),
    ("id_number", ("identity",), _is_identity),
    ("id_number", ("ssn",), _is_own),
    ("id_number", ("document",), bool),
    ("card", ("iban",), _is_iban),
    ("card", ("card",), _is_card),
    ("phone", ("mobile", "landline", "abroad"), _is_own),
    ("phone", ("number",), _is_phone),
)
"""Of each kind the patterns, and what tells whether a match is one."""
