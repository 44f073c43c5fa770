"""Finds what is private by its form and by the words before it: keys, tokens and passwords; card,
identity and telephone numbers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...models.data_models import PrivateKind
from ...text.lazy_pattern import lazy_pattern

Span = tuple[PrivateKind, int, int]
"""The kind, and the range ``[start, end)``."""

_PRIVATE_KEY = lazy_pattern(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?!-----END)[\s\S]){16,16000}(?:-----END [A-Z0-9 ]{0,40}-----)?"
    r"|PuTTY-User-Key-File-[23]:[\s\S]{40,16000}|\bAGE-SECRET-KEY-1[0-9A-Z]{40,70}\b"
)
# Each begins with its issuer's token prefix, so that the form is unambiguous.
_TOKENS = tuple(
    lazy_pattern(rf"(?<![A-Za-z0-9_])(?:{form})(?![A-Za-z0-9])")
    for form in (
        r"gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{40,255}",
        r"gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-[A-Za-z0-9_-]{20,1024}"
        r"|GR1348941[A-Za-z0-9_-]{20,50}",
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}",
        r"LTAI[A-Za-z0-9]{12,30}|AKID[A-Za-z0-9]{32,48}|AKLT[A-Za-z0-9_-]{20,60}",
        r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,600}",
        r"(?:sk|rk|pk)-(?=[A-Za-z0-9_-]{0,250}\d)(?:[A-Za-z0-9]{1,12}-){0,3}"
        r"[A-Za-z0-9_-]{20,250}",
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9]{24,80}",
        r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{20,250}",
        r"hf_[A-Za-z0-9]{30,60}|npm_[A-Za-z0-9]{36}|pypi-Ag[A-Za-z0-9_-]{60,300}",
        r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,60}|[0-9a-f]{32}-us\d{1,2}",
        r"sq0(?:csp|atp|idp)-[A-Za-z0-9_-]{20,50}|(?:AC|SK)(?=[a-z]*\d)[0-9a-f]{32}",
        r"\d{8,10}:[A-Za-z0-9_-]{35}",
        r"[MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,40}",
        r"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}(?:\.[A-Za-z0-9_-]{0,1000})?",
        r"(?:dop|doo|dor)_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    )
)
# A secret inside a text that is not secret: only the group is hidden.
_INSIDE = (
    lazy_pattern(r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,80}:([^\s/@]{3,200})@[A-Za-z0-9\[]"),
    lazy_pattern(
        r"(?i)[?&](?:access_?token|auth_?token|token|api_?key|key|app_?secret|secret|signature|sig|"
        r"sign|passw(?:or)?d|pwd)=([A-Za-z0-9_.~%+/=-]{12,600})"
    ),
    lazy_pattern(r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/-]{16,2000}={0,2})"),
    lazy_pattern(r"AccountKey=([A-Za-z0-9+/]{40,100}={0,2})"),
    lazy_pattern(
        r"hooks\.slack\.com/services/(T[A-Za-z0-9_]+/B[A-Za-z0-9_]+/[A-Za-z0-9_]+)"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/([A-Za-z0-9-]{20,60})"
        r"|discord(?:app)?\.com/api/webhooks/(\d{5,25}/[A-Za-z0-9_-]{30,120})"
    ),
    lazy_pattern(
        r"(?i)(?:api[ _-]?key|app[ _-]?(?:key|secret)|secret[ _-]?(?:access[ _-]?)?key|"
        r"access[ _-]?key(?:[ _-]?(?:id|secret))?|client[ _-]?secret|(?:access|auth|refresh|"
        r"bot)[ _-]?"
        r"token|\btoken|\bsecret|private[ _-]?key|api ?密钥|密钥|秘钥|令牌|私钥|公众号密匙)"
        r"\s*(?:值|串|码)?\s*(?:is|was|are|should be|是|为|為|:|=)+\s*[\"'`]?"
        r"((?=[!-~]{0,200}\d)(?=[!-~]{0,200}[A-Za-z])[A-Za-z0-9_.~+/=-]{12,600})"
    ),
)
_NAMED_LONG = lazy_pattern(
    r"(?i)(?:密钥|秘钥|令牌|私钥|api[ _-]?key|secret[ _-]?key|access[ _-]?token|"
    r"access[ _-]?key[ _-]?secret|app[ _-]?secret)\s+[\"'`]?"
    r"(?P<v>(?=[!-~]{0,200}\d)(?=[!-~]{0,200}[A-Za-z])[A-Za-z0-9_-]{24,200})(?![!-~])"
)
_HAS_DIGIT = re.compile(r"\d")


def keys(text: str) -> Iterator[Span]:
    """Yields the private keys and tokens in a searchable text."""
    for match in _PRIVATE_KEY.finditer(text):
        yield PrivateKind.PRIVATE_KEY, match.start(), match.end()
    for form in _TOKENS:
        for match in form.finditer(text):
            yield PrivateKind.TOKEN, match.start(), match.end()
    for form in _INSIDE:
        for match in form.finditer(text):
            group = match.lastindex or 0
            if _HAS_DIGIT.search(match[group]):
                yield PrivateKind.TOKEN, match.start(group), match.end(group)
    for match in _NAMED_LONG.finditer(text):
        yield PrivateKind.TOKEN, match.start("v"), match.end("v")


_NAMES = (
    r"(?:密码|密碼|口令|暗号密|开机码|验证码|驗證碼|校验码|动态码|激活码|提取码|取件码|解锁码|"
    r"锁屏码|"
    r"(?:门|保险柜|保险箱|门禁|开门)(?:的)?密?码)"
)
_IS = (
    r"(?:我们?|他|她|已经|已|现在|目前|暂时|还|都|就|统一)*"
    r"(?:是|为|為|叫|改成了?|改为了?|设成了?|设为了?|换成了?|设置成|设置为|:|=)+"
)
_SAID = lazy_pattern(
    rf"(?i)(?:{_NAMES})(?:[(（][^()（）]{{0,12}}[)）])?\s*{_IS}\s*[\"'`「『]?\s*(?P<v>[!-~]"
    rf"{{3,64}})"
)
_BESIDE = lazy_pattern(rf"(?i){_NAMES}\s*[\"'`「『]?(?P<v>[!-~]{{4,64}})")
_NAMED = lazy_pattern(
    r"(?i)\b(?P<name>passwords?|(?<=fi )(?:pass|key)|pass(?=\s*[:=])|passwd|passphrase|"
    r"pass ?code|passkey|pwd|pswd|pw|"
    r"pin(?: code| number)?|otp|"
    r"(?:verification|security|access|door|gate|alarm|unlock|lock|safe|login) code|combination|"
    r"code(?=\s(?:for|to|of)\s(?:\w+\s){0,2}(?:door|gate|alarm|safe|lock|garage|vault)\b)|psk)\b"
    r"(?:\s+(?:for|of|to|on)\s+(?:[\w'’.-]+\s+){0,4}?[\w'’.-]+)?\s*"
    r"(?P<is>(?:now |still |currently )?(?:is|was|are|to be|to|will be)(?: now| still|"
    r" currently)?\b|[:=])"
    r"[:\s]*(?P<q>[\"'`]?)(?P<v>[!-~]{3,64})"
)
_PIN = lazy_pattern(
    r"\bPIN(?![A-Za-z])(?:\s*(?:码|code|number))?\s*(?:is|是|为|:|=)?\s*(?P<v>\d{4,12})(?!\d)"
)
_CVV = lazy_pattern(r"(?i)\bcv[vc]2?(?:\s*(?:code|number|is|:|=))*\s*(?P<v>\d{3,4})(?!\d)")
_PIN_SMALL = lazy_pattern(
    r"(?i)\b(?:pin|otp|passcode|password|pwd)\s+(?P<v>(?=[A-Za-z@#$!_]*\d)[A-Za-z0-9@#$!_]{4,32})\b"
)
# The words of a phrase, and what stands behind a user's name.
_PHRASE = lazy_pattern(
    r"(?i)\b(?:pass ?phrase|(?:seed|recovery|backup) phrase|mnemonic)\s*(?:is|:|=)\s*[\"'`]?"
    r"(?P<v>[a-z]{3,12}(?:[ -][a-z]{3,12}){3,23})(?=\s*(?:[\"'`.,;!]|$))"
)
_LOGIN = lazy_pattern(
    r"(?i)(?:\b(?:log-?in|credentials?|creds|account|user(?:name)?)\b|账号|账户|用户名|登录名?)"
    r"(?:\s+(?:for|to|of|on)\s+[\w .-]{1,30}?)?(?:\s*(?:is|are|是|为|:|=)+)?\s*"
    r"[\w.@-]{2,40}\s?[/:|]\s?(?P<v>(?=[!-~]{0,63}\d)(?=[!-~]{0,63}[A-Za-z])[!-~]{6,64})"
)
_EDGE = "\"'`,.;:!?()[]{}<>"
_NO_SECRET = lazy_pattern(
    r"weak|wrong|expired|strong|incorrect|secret|private|missing|required|changed|reset|"
    r"correct|long|short|simple|complicated|complex|safe|secure|invalid|unknown|blank|"
    r"empty|default|different|same|encrypted|hashed|optional|mandatory|important|needed|"
    r"stored|saved|written|hidden|lost|forgotten|shared|known|public|easy|hard|good|bad|"
    r"fine|old|new|null|none|true|false|undefined|string|text|case-sensitive|protected|"
    r"password|username|login|email|name|something|anything|nothing|what|here|there|below|"
    r"above|unchanged|valid|ready|ok|okay|disabled|enabled|visible"
)
_MASKED = re.compile(r"[*xX•#?_.\-·]+|<[^>]*>|\$?\{[^}]*\}?|%\w+%?")
_WORD = re.compile(r"[A-Za-z][a-z]*(?:['-][a-z]+)*")
_SENTENCE_END = lazy_pattern(r"[\"'`]?\s*(?:[.!?,;)。！？，；）]|$|\n|and\b|but\b)")
_UNITS = lazy_pattern(r"\s?(?:位|个|次|年|月|日|号|天|分钟|小时|秒|人|条|遍|元|块|道|种|层|楼|%)")


def passwords(text: str) -> Iterator[Span]:
    """Yields the passwords, codes and PINs that a searchable text names as such."""
    for match in _SAID.finditer(text):
        if _is_said(match["v"], text[match.end("v") :]):
            yield _span(match)
    for match in _BESIDE.finditer(text):
        if _is_beside(match["v"], text[match.end("v") :]):
            yield _span(match)
    for match in _NAMED.finditer(text):
        if _is_named(match, text):
            yield _span(match)
    for form in (_PIN, _CVV, _PIN_SMALL, _PHRASE, _LOGIN):
        for match in form.finditer(text):
            yield _span(match)


def _span(match: re.Match[str]) -> Span:
    value = match["v"]
    kept = value.rstrip(_EDGE.replace("!", "")) or value
    if len(kept) > 1 and kept.endswith("!") and not re.search(r"\d|[@#$%^&*]", kept):
        kept = kept.rstrip("!")
    return PrivateKind.PASSWORD, match.start("v"), match.start("v") + len(kept)


def _is_said(value: str, behind: str) -> bool:
    """After "密码是": True for a value with a digit or a sign, or a last word."""
    core = value.strip(_EDGE)
    if len(core) < 3 or _MASKED.fullmatch(value.strip(",.;")):
        return False
    if core.isdigit():
        return len(core) >= 4 and not _UNITS.match(behind)
    if re.search(r"\d|[@#$%^&*_+=]", core):
        return True
    return (
        len(core) >= 4
        and _NO_SECRET.fullmatch(core.lower()) is None
        and bool(_SENTENCE_END.match(behind))
    )


def _is_beside(value: str, behind: str) -> bool:
    """Right after "密码", without a word between: True for digits with letters, or six digits."""
    core = value.strip(_EDGE)
    if _UNITS.match(behind) or _MASKED.fullmatch(core or "*"):
        return False
    if core.isdigit():
        return len(core) >= 4
    if re.fullmatch(r"\d{4,12}[#*]?|\d{1,2}(?:-\d{1,2}){2,3}", value):
        return True
    return len(core) >= 6 and bool(re.search(r"\d", core)) and bool(re.search(r"[A-Za-z]", core))


def _is_named(match: re.Match[str], text: str) -> bool:
    """After "password is": True for a value that is no plain word, or one that ends the
    sentence."""
    value, behind = match["v"], text[match.end("v") :]
    core = value.strip(_EDGE)
    if len(core) < 3 or _MASKED.fullmatch(value.strip(",.;")) or _NO_SECRET.fullmatch(core.lower()):
        return False
    if match["q"] or not _WORD.fullmatch(core):
        if core.isdigit():
            return len(core) >= 3 and not re.match(
                r"\s?(?:characters|digits|letters|years|days|times|chars|%)", behind
            )
        return (
            bool(match["q"])
            or re.search(r"\d|[@#$%^&*_+=!]|[a-z][A-Z]", core) is not None
            or (match["is"] in (":", "="))
        )
    if match["name"].lower().startswith(("pin", "comb", "otp", "key", "code")):
        return False  # "the pin is loose"
    if match["name"].lower() == "pass" and match["is"] in (":", "="):
        return False  # "first pass: done"
    ends = value != value.rstrip(_EDGE) or _SENTENCE_END.match(behind) is not None
    if match["is"] in (":", "="):
        return len(core) >= 4 and ends
    return (
        len(core) >= 5 and ends and match["is"].lower() != "to" and not core.endswith(("ed", "ing"))
    )


# Full-width forms to ASCII, and the many dashes and blanks that people put between digits.
_PLAIN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    ord(character): ord(plain)
    for characters, plain in (
        ("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u30fc", "-"),
        ("\u00a0\u2002\u2003\u2009\u202f\u3000", " "),
        ("“”„", '"'),
        ("‘’", "'"),
    )
    for character in characters
}
_SPOKEN = {
    ord(han): ord(digit)
    for hans, digit in (
        ("零〇", "0"), ("一幺壹", "1"), ("二贰两", "2"), ("三叁", "3"), ("四肆", "4"),
        ("五伍", "5"), ("六陆", "6"), ("七柒", "7"), ("八捌", "8"), ("九玖", "9"),
    )
    for han in hans
}  # fmt: skip
_RUN = re.compile("[零〇一幺壹二贰两三叁四肆五伍六陆七柒八捌九玖]{6,}")


def searchable(text: str) -> str:
    """Returns ``text`` in ASCII as far as it has an ASCII form; Chinese numerals in a row become
    digits."""
    plain = text.translate(_PLAIN)
    return _RUN.sub(lambda match: match[0].translate(_SPOKEN), plain)


def before(text: str, at: int, most: int = 16) -> str:
    """Returns the text before ``at`` in the same sentence: at most ``most`` characters."""
    return re.split(r"[。！!？?；;\n]", text[max(at - most, 0) : at])[-1]


_CARD = re.compile(
    r"(?<![A-Za-z0-9_.+-])(?<!\d )\d(?:[ -]?\d){12,18}(?![A-Za-z0-9_-])(?!\.\d)(?! \d)"
)
_ID = re.compile(
    r"(?<![A-Za-z0-9.])[1-9]\d{5} ?-?(?:19|20)\d{2} ?(?:0[1-9]|1[0-2]) ?(?:0[1-9]|[12]\d|3[01]) ?-?"
    r"\d{3} ?[\dXx](?![A-Za-z0-9])"
)
_SSN = re.compile(r"(?<![\w.-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])(?!\.\d)")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])")
# A number that is named as that of a document: six digits at least.
_DOCUMENT = re.compile(
    r"(?i)(?:\b(?:ssn|itin|social security|passport|driver'?s? ?licen[cs]e|national id|"
    r"identity card|national insurance)\b|护照|護照|驾驶证|驾照|駕照|通行证|通行證|社保)"
    r"(?:\s*(?:no\b\.?|num(?:ber)?\b|#|卡?号码?|卡?號碼?))?\s*(?:(?:is|was)\b|是|为|為|:|=)*\s*"
    r"(?P<v>(?=(?:[A-Z -]{0,3}\d){6})[A-Z0-9](?:-?[A-Z0-9]){5,19})(?![A-Za-z0-9])"
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


def _iban_length(written: str) -> int | None:
    """Returns how much of a text is an IBAN by its check digits (ISO 13616), None for nothing."""
    for end in range(len(written), 14, -1):
        plain = written[:end].replace(" ", "")
        if len(plain) < 15 or written[end - 1] == " " or written[end : end + 1].isalnum():
            continue
        if int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1:
            return end
    return None


def _documents(text: str) -> Iterator[Span]:
    for match in _ID.finditer(text):
        plain = re.sub(r"[ -]", "", match[0])
        if _PROVINCES.match(plain) and has_id_checksum(plain):
            yield PrivateKind.ID_NUMBER, match.start(), match.end()
    for match in _SSN.finditer(text):
        if not _is_other(text, match.start(), match.end()):
            yield PrivateKind.ID_NUMBER, match.start(), match.end()
    for match in _DOCUMENT.finditer(text):
        yield PrivateKind.ID_NUMBER, match.start("v"), match.end("v")
    for match in _IBAN.finditer(text):
        if (length := _iban_length(match[0])) is not None:
            yield PrivateKind.CARD, match.start(), match.start() + length


def numbers(text: str) -> Iterator[Span]:
    """Yields the card, identity and telephone numbers of a searchable text."""
    yield from _documents(text)
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
