"""Finds card, identity and telephone numbers by form, check digits and the words before."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...models.data_models import PrivateKind
from .privacy_text import before
from .private_keys import Span

_CARD = re.compile(
    r"(?<![A-Za-z0-9_.+-])(?<!\d )\d(?:[ -]?\d){12,18}(?![A-Za-z0-9_-])(?!\.\d)(?! \d)"
)
_ID = re.compile(
    r"(?<![A-Za-z0-9.])[1-9]\d{5} ?-?(?:19|20)\d{2} ?(?:0[1-9]|1[0-2]) ?(?:0[1-9]|[12]\d|3[01]) ?-?"
    r"\d{3} ?[\dXx](?![A-Za-z0-9])"
)
_MOBILE = re.compile(
    r"(?<![A-Za-z0-9_.])(?:\(?(?:\+|"
    r"00)?86\)?[ -]?)?1[3-9]\d(?:[ -]?\d{4}){2}(?![A-Za-z0-9_])(?!\.\d)"
    r"|(?<![A-Za-z0-9_.])1[3-9]\d(?:[ -]\d{3}[ -]\d{5}|[ -]\d{5}[ -]\d{3})(?![A-Za-z0-9_])"
)
_LANDLINE = re.compile(
    r"(?<![A-Za-z0-9_.-])(?:\(?(?:\+|00)86\)?[ -]?\(?\d{2,3}\)?[ -]?|\(0\d{2,3}\) ?|"
    r"0\d{2,3}[ -])\d{3,4}[ -]?\d{4}"
    r"(?![A-Za-z0-9_-])"
)
_ABROAD = re.compile(
    r"(?<![A-Za-z0-9_.+])\+[1-9]\d{0,2}(?:[ ().-]{0,2}\d){7,12}(?![A-Za-z0-9_])(?!\.\d)"
)
_AMERICAN = re.compile(r"(?:1[ -])?\(\d{3}\) ?\d{3}[ -]\d{4}|\d{3}-\d{3}-\d{4}")
_ROUND = re.compile(r"0{7,}$")
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])\(?\+?\d(?:[ ().-]{0,2}\d){5,14}(?![A-Za-z0-9_])(?!\.\d)")
_PHONE_WORDS = re.compile(
    r"(?i)(?:电话|電話|手机|手機|座机|座機|联系方式|打给|拨打|致电|来电|短信发|热线|"
    r"\b(?:phone|mobile|cell|cellphone|tel|telephone|call|text|sms|whatsapp|dial|ring|reach|fax)\b)"
)
_OTHER_NUMBER = re.compile(
    r"(?i)(?:订单|訂單|单号|單號|流水|编号|編號|型号|批号|工号|学号|会员号|房号|序列号|群号|"
    r"QQ群?|微信群|"
    r"运单|快递|物流|发票|合同号|邮编|书号|条码|货号|版本|车牌|统一社会信用代码|时间戳|"
    r"\b(?:order|tracking|invoice|isbn|issn|sku|ean|upc|serial|ticket|case|ref(?:erence)?|id|"
    r"version|build|commit|timestamp|epoch|zip|uid|imei|qq|part|model)\b)[^，,。;；]{0,12}$"
)
_CARD_WORDS = re.compile(
    r"(?i)(?:卡号|银行卡|储蓄卡|信用卡|借记卡|工资卡|银联|账号|賬號|\b(?:card|visa|mastercard|amex|"
    r"unionpay|debit|credit|iban|account)\b)"
)
_MONEY_BEHIND = re.compile(
    r"\s?(?:元|块|円|日元|美元|欧元|万|亿|人民币|分(?!机)|条|%|USD|CNY|dollars?|yuan|次|个|票|人|"
    r"字节|bytes)"
)
_MONEY_BEFORE = re.compile(r"[$¥￥€£]\s?$")
_FREE_CALL = re.compile(r"(?:400|800|95\d{3}|1[02]\d{3}$)")
_PROVINCES = re.compile(r"1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3]")
_WEIGHTS = tuple(pow(2, 17 - place, 11) for place in range(17))
# Lengths by prefix: ISO/IEC 7812 ranges of common card schemes.
_ISSUERS = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3(?:0[0-5]|[689])"), (14, 16, 19)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 17, 18, 19)),
    (re.compile(r"62|60|64|65|81"), (16, 17, 18, 19)),
)


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


def numbers(text: str) -> Iterator[Span]:
    """Yields the card, identity and telephone numbers of a searchable text."""
    for match in _ID.finditer(text):
        plain = re.sub(r"[ -]", "", match[0])
        if _PROVINCES.match(plain) and has_id_checksum(plain):
            yield PrivateKind.ID_NUMBER, match.start(), match.end()
    for match in _CARD.finditer(text):
        if _is_card(match[0], text, match.start()):
            yield PrivateKind.CARD, match.start(), match.end()
    for form in (_MOBILE, _LANDLINE, _ABROAD):
        for match in form.finditer(text):
            if not _ROUND.search(match[0]) and not _is_other(text, match.start(), match.end()):
                yield PrivateKind.PHONE, match.start(), match.end()
    for match in _NUMBER.finditer(text):
        if _is_said_to_be_a_phone(match, text):
            yield PrivateKind.PHONE, match.start(), match.end()


def _is_card(written: str, text: str, at: int) -> bool:
    digits = re.sub(r"\D", "", written)
    if len(set(digits)) < 2 or not has_luhn(digits):
        return False
    ahead = before(text, at)
    if _CARD_WORDS.search(ahead):
        return True
    if _OTHER_NUMBER.search(ahead) or _MONEY_BEFORE.search(ahead):
        return False
    if re.search(r"[ -]", written) and not re.fullmatch(
        r"\d{4}([ -])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?|\d{4}([ -])\d{6}\2\d{4,5}|"
        r"\d{6}[ -]\d{10,13}",
        written,
    ):
        return False
    return any(form.match(digits) and len(digits) in sizes for form, sizes in _ISSUERS)


def _is_other(text: str, start: int, end: int) -> bool:
    """True if the words call the number something else, or it is an amount."""
    ahead = before(text, start)
    if text[end : end + 1] == "@":  # the name in an address
        return True
    if _MONEY_BEFORE.search(ahead) or _MONEY_BEHIND.match(text, end):
        return True
    return bool(_OTHER_NUMBER.search(ahead)) and not _PHONE_WORDS.search(ahead)


def may_be_phone(text: str, start: int, end: int) -> bool:
    """Returns False if the words around a number say that it is not a telephone number, although a
    library takes it for one.

    Without a ``+`` and without a word for a telephone, many other numbers look the same.
    """
    written = text[start:end]
    if _is_other(text, start, end) or _FREE_CALL.match(re.sub(r"\D", "", written)):
        return False
    said = _PHONE_WORDS.search(before(text, start)) is not None
    return said or "+" in written or _AMERICAN.fullmatch(written) is not None


def _is_said_to_be_a_phone(match: re.Match[str], text: str) -> bool:
    """True if a word for a telephone is right before it, and nothing is being counted."""
    digits = re.sub(r"\D", "", match[0])
    ahead = before(text, match.start(), most=14)
    if not _PHONE_WORDS.search(ahead) or not 7 <= len(digits) <= 15:
        return False
    if _FREE_CALL.match(digits) or _looks_like_a_date(match[0]):
        return False
    return not _is_other(text, match.start(), match.end())


def _looks_like_a_date(written: str) -> bool:
    return (
        re.match(
            r"(?:19|20)\d{2}[ .-]?(?:0?[1-9]|1[0-2])[ .-]?(?:0?[1-9]|[12]\d|3[01])(?!\d)", written
        )
        is not None
    )
