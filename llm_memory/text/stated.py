"""Whether a text asks, and what it states apart from what it asks and supposes. Pure."""

from __future__ import annotations

import re
from typing import Final, Literal

from .scripts import simplified

type Mood = Literal["stated", "asked", "supposed", "joked"]

ASKS_FOR: Final = re.compile(
    "为什么|为何|为啥|怎么[样办]?|如何|谁|哪|什么时候|什么|啥|咋|几|多[少久大远长]|"
    r"\b(?:why|when|where|who|whose|whom|which|how|what)\b",
    re.IGNORECASE,
)
"""Matches the words for what is asked for."""
_QUESTION: Final = re.compile(
    r"[?？]\s*$|(?:[呢吗么]|没有?|(?<![好行对是要得])不)\W*(?:[(（][^()（）]*[)）]\W*)?$|"
    r"([\u4e00-\u9fff])[不没]\1|有没有|是否|[能可会]否|"
    r"好[多久](?![不没了人])|啷个|乜|点解|边[个度位]|系咪|"
    r"^\W*(?:do|does|did|am|is|are|was|were|has|have|had|will|would|can|could|should|may|might)\s",
    re.IGNORECASE,
)
"""By its end, which a remark in brackets may follow, by a choice of yes and no, by what is asked
with far from Beijing, and by the verb in front in English."""
_REQUEST: Final = re.compile(
    "告诉我|说说|讲讲|查(?:一下|查|下)|帮我?(?:查|看|找|想|回忆)|提醒|想(?:知道|问)|问(?:一下|下|问)|"
    "(?:记不(?:得|清|起|住)|想不起)|回忆"
    r"|\b(?:tell|remind|show)\s(?:me|us)\b|\blook\sup\b|\blist\s(?:please|of|my|our|the|all)\b|列(?:一下|出)|\bfind\sout\b|\blet\sme\sknow\b|"
    r"\b(?:want|need|like)\sto\sknow\b|\b(?:can't|cannot|don't)\sremember\b",
    re.IGNORECASE,
)
_AND_HOW: Final = re.compile(r"呢\W*$")
"""那小芳呢 asks for more of what was spoken of."""
SENTENCE: Final = re.compile(r"[^。！？!?；;\n]+[。！？!?；;\n]?")
CLAUSE: Final = re.compile(
    r"(?:[^，,。！？!?；;\n]|(?<=[0-9]),(?=[0-9]))+(?:[，。！？!?；;\n]|,(?![0-9]))?"
)
_HAN: Final = re.compile("[\u4e00-\u9fff]")
_SPACE: Final = re.compile(r"(?<=[\u4e00-\u9fff])\s+(?=[\u4e00-\u9fff])")
"""Stands for a comma in chats."""
_STOP: Final = re.compile(
    r"(?<=\w)(?<!\b[A-Z])(?<!\b[DM]r)(?<!\bMs)(?<!\bSt)(?<!\bvs)(?<!Mrs)(?<!\.[a-z])(\.+)\s+"
)
"""Ends a sentence in English."""
_THEN: Final = re.compile(
    r"^\W*(?:then|(?:i|we|he|she|they|it|that|this|you)\W?(?:would|will|d|ll|might|could|can|may)\b)",
    re.I,
)
_SUPPOSED: Final = re.compile(
    r"要是|要不是|如果|假如|假设|万一|除非|倘若|想象一?下|比方|我倒?希望|但愿|恨不得|"
    r"\b(?:if|unless|whether|suppos(?:e|ing)|imagine|wish (?:i|we|he|she|they|it)|"
    r"would have|what if)\b",
    re.IGNORECASE,
)
"""From here on a sentence tells what is not so, or not yet."""
_JOKED: Final = re.compile(
    r"(?<!不是)(?<![没别])(?<!没有)(?<!没在)(?:开玩笑|逗你|骗你|哄你|瞎说|乱说|说着玩|吹牛|胡扯|才怪)|"
    r"(?<!not )(?<!n't )(?<!no )\b(?:(?:just |only )?kidding|joking|(?:a|the) joke|j/?k|"
    r"pulling your leg|made that up|as if)\b",
    re.IGNORECASE,
)
_TAG: Final = re.compile(
    r"^(?!.*\b(?:i|my|we|our)\b).*,\s?(?:is|are|was|were|do|does|did|has|have|had|can|will|would)"
    r"(?:n['’]t)?\s(?:he|she|it|they|you|there)\s?\?\s*$",
    re.IGNORECASE,
)
"""Asks whether another one's matter is as it is said: Carl is a vegan, isn't he?"""
_BUT: Final = re.compile(
    r"其实|说真的|说正经的|不过|但|\b(?:actually|seriously|but)\b", re.IGNORECASE
)
_ASKED: Final = re.compile(
    r"[?？]\W*$|[吗么]\W*$|[了过]没有?\W*$|(?<=[^\W\d])不\W*$|([\u4e00-\u9fff])[不没]\1|是否|[能可会]否|有没有|"
    r"多少|几[点号时]|什么时候|啥时|何时|为什么|为何|干[嘛啥]|谁知道|怎么办|(?<![没不])怎么样?\W*$|是(?:谁|哪|什么|几)|在哪|去哪|哪[天里儿]\W*$|"
    r"哪[个家种位款栋条间层所](?!帮)|^\W*(?:那|所以)?(?:谁[去来在有会能是]|你们?.*(?:什么|啥|哪|谁|怎么))|"
    r"^\W*(?:(?:and|so|but|hey|oh|well|ok(?:ay)?)\W+)*(?:(?:is|are|does)\s(?!not\b)|(?:do|did)\s(?:i|you|u|ya|he|she|it|we|they|any\w*)\b|"
    r"(?:am|was|were|can|could|should|has|have|had|will|would)\s"
    r"(?:i|you|u|ya|he|she|it|we|they|there|this|that|any\w*|some\w*|the|my|your|his|her|our|their)\b|"
    r"(?:what|who|where|when|how|why)['’]?s\s|how\scome\s|who\s(?!knew\b)|"
    r"(?:why|when|where|whose|how|what|which)(?:\s\w+)?\s"
    r"(?:is|are|am|was|were|do|does|did|can|could|should|has|have|had|will|would)\b)",
    re.IGNORECASE,
)
"""Matches a clause that asks. ``asks`` would find too many: 谁 and "when" stand in statements."""
_NO_QUESTION: Final = re.compile(
    r"(?:什么|谁|哪|怎么|多少|几点|是否).{0,6}[都也]|不知不觉|^(?:has|have|will) "
)
_FROM_HERE: Final = re.compile(
    r"([\u4e00-\u9fff])[不没]\1|是否|有没有|[能可会]否|多[少久大长远高重]|几|什么|怎么|为何|哪|谁|啥|咋|干嘛|"
    r"(?<=.{6})要|(?<=..)(?:能|可以|可不|会|该|应该|需要|用|算|够|行|好|对|(?<!没)有)",
)
"""From here on a Chinese clause asks: what stands before it is what it speaks of."""
_TELLS: Final = re.compile("[我俺咱了](?!.{0,6}(?:[今明后去前上下本这]个?[年月周天]|公司)$)")
"""Stands in what a question tells before it asks; else that is what it asks of."""
_OWN: Final = re.compile(
    r"\b(?:my|our|since i|because i|now that|as i|i['’]?(?:m|ve)|i (?:am|have|just))\b.*",
    re.I | re.S,
)
"""What an English question tells of who asks: for my wife's birthday on May 3."""
_WHETHER: Final = re.compile(
    r"^\W*(?:is|are|am|was|were|has|have|had|will|did|does|do)(?:n['’]t)?\s", re.IGNORECASE
)
_OWN_THING: Final = re.compile(r"\b(?:my|our) [a-z]+", re.IGNORECASE)


def asks(text: str) -> bool:
    """Returns whether a message is a question or a request to be told, as far as its form shows."""
    text = simplified(text)
    return any(form.search(text) for form in (_QUESTION, ASKS_FOR, _REQUEST))


def is_yes_or_no(text: str) -> bool:
    """Returns whether a message asks whether something is so, and for nothing else."""
    text = simplified(text)
    others = ASKS_FOR.search(text) or _REQUEST.search(text) or _AND_HOW.search(text)
    return _QUESTION.search(text) is not None and not others


def stated(text: str) -> str:
    """Returns a text's statements, without what it asks, supposes or says as a joke. Of a question
    what it speaks of is stated: 我明天去北京，要带伞吗？"""
    return "".join(clause for clause, mood in read(text) if mood == "stated")


def read(text: str) -> list[tuple[str, Mood]]:
    """Returns the pieces of a text, each with how it is meant."""
    found: list[tuple[str, Mood]] = []
    for sentence in SENTENCE.findall(_STOP.sub("\\1\n", _SPACE.sub("，", text))):
        plain = simplified(sentence)
        if _JOKED.search(plain):
            serious = _BUT.search(plain)
            told = sentence[serious.start() :] if serious else ""
            # It is what was said before that was a joke.
            found = [(piece, "joked") for piece, _ in found] + [(sentence, "joked")]
            found += [(told, "stated")] if told and not _JOKED.search(simplified(told)) else []
            continue
        if _TAG.search(sentence):
            found.append((sentence, "asked"))
            continue
        supposed = _SUPPOSED.search(plain)
        end = supposed.start() if supposed else len(sentence)
        for clause in CLAUSE.findall(sentence[:end]):
            found += _parted(clause)
        found += _supposed(sentence[end:]) if supposed else []
    return found


def supposes(text: str) -> bool:
    """Returns whether a text tells of what may be, and not of what is."""
    return _SUPPOSED.search(simplified(text)) is not None


def _supposed(text: str) -> list[tuple[str, Mood]]:
    """Returns what a condition is followed by: in English only what would come of it is supposed:
    if anyone has spare gloves, I'm allergic to latex."""
    first, *rest = CLAUSE.findall(text)
    if _HAN.search(text):
        return [(text, "supposed")]
    moods: list[Mood] = ["supposed" if _THEN.search(one) else "stated" for one in rest]
    return [(first, "supposed"), *zip(rest, moods, strict=True)]


def _parted(clause: str) -> list[tuple[str, Mood]]:
    plain = simplified(clause)
    if not _ASKED.search(plain) or _NO_QUESTION.search(plain):
        return [(clause, "stated")]
    if not _HAN.search(plain):
        own = (_OWN_THING if _WHETHER.match(plain) else _OWN).search(plain)
        asked: list[tuple[str, Mood]] = [(clause, "asked")]
        return [*asked, (own[0], "stated")] if own else asked
    begins = _FROM_HERE.search(plain)
    first = begins.start() if begins else 0
    told: Mood = "stated" if _TELLS.search(plain[:first]) else "asked"
    return [(clause[:first], told), (clause[first:], "asked")]
