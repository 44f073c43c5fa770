"""Finds and hides private data in a draft: keys, tokens and passwords; card, identity and telephone
numbers, by their form and by the words before them.

Judgment, reasoning, tags, questions and context are treated alike. Private data in a speaker's name
is always hidden: it is no reason to refuse the draft.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...models.data_models import MemoryDraft, PrivateKind, Reason, Refused
from ...models.settings import PrivacyMode
from . import GATE

Span = tuple[PrivateKind, int, int]
"""The kind, and the range ``[start, end)``."""
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
_RANK = {kind: rank for rank, kind in enumerate(PrivateKind)}
_HAN = re.compile("[\u3400-\u9fff]")


def find(text: str, more: Iterable[Span] = ()) -> tuple[Span, ...]:
    """Returns the private data in a text, from left to right, without overlaps.

    ``more``: spans from other finders. Of two overlapping spans the graver kind is taken (see
    PrivateKind), over the range of both.
    """
    plain = searchable(text)
    found = (*_keys(plain), *_passwords(plain), *_documents(plain), *_cards(plain), *_phones(plain))
    merged: list[Span] = []
    for kind, start, end in sorted((*found, *more), key=lambda span: span[1]):
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
        tags=tuple(dict.fromkeys(map(without, draft.tags))),
        asks=tuple(dict.fromkeys(map(without, draft.asks))),
        context=without(draft.context),
    )
    if kinds and (mode is PrivacyMode.REJECT or not _says_more(cleared.judgment)):
        return Refused(Reason.PRIVATE, private=tuple(kinds))
    hidden = tuple(kinds)
    if draft.actor is not None:
        cleared = replace(cleared, actor=replace(draft.actor, name=without(draft.actor.name)))
    return Protected(cleared, hidden)


def _says_more(judgment: str) -> bool:
    rest = judgment
    for marks in HIDDEN.values():
        for mark in marks:
            rest = rest.replace(mark, " ")
    return any(letter.isalnum() for letter in GATE["names_of_private"].sub(" ", rest))


# Full-width forms to ASCII, the many dashes and blanks that people put between digits, and Chinese
# numerals to digits.
_PLAIN = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u30fc", "-")
    | dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " ")
    | dict.fromkeys("“”„", '"')
    | dict.fromkeys("‘’", "'")
)
_NUMERALS = "零〇一幺壹二贰两三叁四肆五伍六陆七柒八捌九玖"
_SPOKEN = str.maketrans(_NUMERALS, "0011122233445566778899")
_RUN = re.compile(f"[{_NUMERALS}]{{6,}}")


def searchable(text: str) -> str:
    """Returns ``text`` in ASCII as far as it has an ASCII form; Chinese numerals in a row become
    digits."""
    return _RUN.sub(lambda match: match[0].translate(_SPOKEN), text.translate(_PLAIN))


def _all(kind: PrivateKind, names: Iterable[str], text: str) -> Iterator[Span]:
    """What the patterns find: their last group, or all that they match."""
    for name in names:
        for match in GATE[name].finditer(text):
            group = match.lastindex or 0
            yield kind, match.start(group), match.end(group)


def _keys(text: str) -> Iterator[Span]:
    yield from _all(PrivateKind.PRIVATE_KEY, ("private_key",), text)
    yield from _all(PrivateKind.TOKEN, ("token", "named_key"), text)
    inside = (f"key_inside_{number}" for number in range(1, 7))
    for kind, start, end in _all(PrivateKind.TOKEN, inside, text):
        if any(map(str.isdigit, text[start:end])):
            yield kind, start, end


_EDGE = "\"'`,.;:!?()[]{}<>"


def _passwords(text: str) -> Iterator[Span]:
    """Yields the passwords, codes and PINs that a searchable text names as such."""
    found = [
        *(match for match in GATE["password_said"].finditer(text) if _is_said(match)),
        *(match for match in GATE["password_beside"].finditer(text) if _is_beside(match)),
        *(match for match in GATE["password_named"].finditer(text) if _is_named(match)),
    ]
    for name in ("pin", "cvv", "pin_beside", "pass_phrase", "login"):
        found += GATE[name].finditer(text)
    for match in found:
        value = match["v"]
        kept = value.rstrip(_EDGE.replace("!", "")) or value
        if not re.search(r"\d|[@#$%^&*]", kept):
            kept = kept.rstrip("!") or kept
        yield PrivateKind.PASSWORD, match.start("v"), match.start("v") + len(kept)


def _behind(match: re.Match[str], name: str) -> bool:
    return GATE[name].match(match.string, match.end("v")) is not None


def _is_said(match: re.Match[str]) -> bool:
    """After "密码是": True for a value with a digit or a sign, or a last word."""
    core = match["v"].strip(_EDGE)
    if len(core) < 3 or GATE["masked"].fullmatch(match["v"].strip(",.;")):
        return False
    if core.isdigit():
        return len(core) >= 4 and not _behind(match, "units")
    if re.search(r"\d|[@#$%^&*_+=]", core):
        return True
    is_word = GATE["no_secret"].fullmatch(core.lower()) is not None
    return len(core) >= 4 and not is_word and _behind(match, "sentence_end")


def _is_beside(match: re.Match[str]) -> bool:
    """Right after "密码", without a word between: True for four digits, or digits with letters."""
    core = match["v"].strip(_EDGE)
    if not core or _behind(match, "units") or GATE["masked"].fullmatch(core):
        return False
    if core.isdigit():
        return len(core) >= 4
    mixed = re.search(r"\d", core) is not None and re.search("[A-Za-z]", core) is not None
    return (mixed and len(core) >= 6) or GATE["code_beside"].fullmatch(match["v"]) is not None


def _is_named(match: re.Match[str]) -> bool:
    """After "password is": True for a value that is no plain word, or one that ends the
    sentence."""
    value, name, quoted = match["v"], match["name"].lower(), bool(match["q"])
    core = value.strip(_EDGE)
    if len(core) < 3 or GATE["masked"].fullmatch(value.strip(",.;")):
        return False
    if GATE["no_secret"].fullmatch(core.lower()):
        return False
    marked = match["is"] in (":", "=")
    if quoted or not GATE["plain_word"].fullmatch(core):
        if core.isdigit():
            return not _behind(match, "counted")
        return quoted or marked or GATE["secret_sign"].search(core) is not None
    if name.startswith(("pin", "comb", "otp", "key", "code")) or (name == "pass" and marked):
        return False  # "the pin is loose", "first pass: done"
    if value == value.rstrip(_EDGE) and not _behind(match, "sentence_end"):
        return False
    if marked:
        return len(core) >= 4
    return len(core) >= 5 and match["is"].lower() != "to" and not core.endswith(("ed", "ing"))


_WEIGHTS = tuple(pow(2, 17 - place, 11) for place in range(17))


def has_luhn(digits: str) -> bool:
    """True if the last digit is the Luhn check digit of the others (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def has_id_checksum(number: str) -> bool:
    """True if the 18th character fits the 17 digits before it (GB 11643, ISO 7064 MOD 11-2)."""
    total = sum(weight * int(digit) for weight, digit in zip(_WEIGHTS, number[:17], strict=True))
    return "10X98765432"[total % 11] == number[17].upper()


def _iban_length(written: str) -> int:
    """Returns how much of a text is an IBAN by its check digits (ISO 13616), 0 for nothing."""
    for end in range(len(written), 14, -1):
        plain = written[:end].replace(" ", "")
        if len(plain) < 15 or written[end - 1] == " " or written[end : end + 1].isalnum():
            continue
        if int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1:
            return end
    return 0


def _documents(text: str) -> Iterator[Span]:
    for match in GATE["identity"].finditer(text):
        plain = re.sub(r"[ -]", "", match[0])
        if GATE["provinces"].match(plain) and has_id_checksum(plain):
            yield PrivateKind.ID_NUMBER, match.start(), match.end()
    for match in GATE["ssn"].finditer(text):
        if not _is_other(text, match.start(), match.end()):
            yield PrivateKind.ID_NUMBER, match.start(), match.end()
    yield from _all(PrivateKind.ID_NUMBER, ("document",), text)


def _cards(text: str) -> Iterator[Span]:
    for match in GATE["iban"].finditer(text):
        if length := _iban_length(match[0]):
            yield PrivateKind.CARD, match.start(), match.start() + length
    for match in GATE["card"].finditer(text):
        if _is_card(match[0], _before(text, match.start())):
            yield PrivateKind.CARD, match.start(), match.end()


def _is_card(written: str, ahead: str) -> bool:
    digits = re.sub(r"\D", "", written)
    if len(set(digits)) < 2 or not has_luhn(digits):
        return False
    if GATE["card_words"].search(ahead):
        return True
    if GATE["other_number"].search(ahead) or GATE["money_before"].search(ahead):
        return False
    in_groups = GATE["card_in_groups"].fullmatch(written) is not None
    return in_groups and GATE["card_issuer"].match(digits) is not None


def _phones(text: str) -> Iterator[Span]:
    for kind, start, end in _all(PrivateKind.PHONE, ("mobile", "landline", "abroad"), text):
        if not text[start:end].endswith("0000000") and not _is_other(text, start, end):
            yield kind, start, end
    for kind, start, end in _all(PrivateKind.PHONE, ("number",), text):
        written = text[start:end]
        said = GATE["phone_words"].search(_before(text, start, most=14)) is not None
        counts = 7 <= sum(map(str.isdigit, written)) <= 15 and not GATE["date_like"].match(written)
        if said and counts and not _is_free(written) and not _is_other(text, start, end):
            yield kind, start, end


def may_be_phone(text: str, start: int, end: int) -> bool:
    """Returns False if the words around a number say that it is not a telephone number, although a
    library takes it for one.

    Without a ``+`` and without a word for a telephone, many other numbers look the same.
    """
    written = text[start:end]
    if _is_other(text, start, end) or _is_free(written):
        return False
    said = GATE["phone_words"].search(_before(text, start)) is not None
    return said or "+" in written or GATE["american"].fullmatch(written) is not None


def _is_free(written: str) -> bool:
    """True for a public hotline."""
    return GATE["free_call"].match(re.sub(r"\D", "", written)) is not None


def _is_other(text: str, start: int, end: int) -> bool:
    """True if the words call the number something else, or it is an amount."""
    ahead = _before(text, start)
    if text[end : end + 1] == "@":  # the name in an address
        return True
    if GATE["money_before"].search(ahead) or GATE["money_behind"].match(text, end):
        return True
    named = GATE["other_number"].search(ahead) is not None
    return named and not GATE["phone_words"].search(ahead)


def _before(text: str, at: int, most: int = 16) -> str:
    """Returns the text before ``at`` in the same sentence: at most ``most`` characters."""
    return re.split(r"[。！!？?；;\n]", text[max(at - most, 0) : at])[-1]
