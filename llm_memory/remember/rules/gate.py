"""What a draft must be to become a memory: tidied, worth one, neither off the record nor told in
confidence; what reads like an order to the bot, and to which file it goes. The words are in
``gate.txt``.

Refusing a text that the speaker wanted kept costs more than keeping a line of chatter.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from ...models.data_models import (
    MAX_STRENGTH,
    MIN_STRENGTH,
    Memory,
    MemoryDraft,
    MemoryKind,
    Refused,
    Topic,
)
from ...text.dates.expressions import Precision, find_times
from ...text.normalising import SENTENCE_ENDS, clean, one_line
from ...text.numerals import narrowed
from ...text.scripts import WIDE, fold, simplified
from . import GATE

MAX_JUDGMENT = 2_000
MAX_REASONING = 8_000
MAX_TAGS = 12
MAX_TAG = 40
MAX_ASKS = 3
MAX_ASK = 80
MAX_NAME = 64
type Order = Literal["takeover", "standing"]
_ORDERS: Final[tuple[Order, ...]] = ("takeover", "standing")
_LEAST: Final = 4
"""A Han character, kana or Hangul syllable counts two, any other letter or digit one."""
_UNSEEN: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")


def tidy(draft: MemoryDraft) -> MemoryDraft | Refused:
    """Returns the draft as it may be stored: visible characters only, lengths bounded. A text that
    is too long is rejected, for half a memory is a wrong one; labels are cut."""
    judgment, reasoning = clean(draft.judgment), clean(draft.reasoning)
    for text, most in ((judgment, MAX_JUDGMENT), (reasoning, MAX_REASONING)):
        if len(text) > most:
            return Refused("too_long", detail=str(most))
    name = _label(draft.actor.name, MAX_NAME) if draft.actor else ""
    return replace(
        draft,
        judgment=judgment,
        reasoning=reasoning,
        tags=_labels(draft.tags, MAX_TAG)[:MAX_TAGS],
        asks=_labels(draft.asks, MAX_ASK)[:MAX_ASKS],
        strength=min(max(draft.strength, MIN_STRENGTH), MAX_STRENGTH),
        actor=replace(draft.actor, name=name) if draft.actor else None,
        context=_label(draft.context, MAX_JUDGMENT),
    )


def _labels(texts: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (_label(text, most) for text in texts))))


def _label(text: str, most: int) -> str:
    return one_line(clean(text))[:most].rstrip()


def says_nothing(text: str) -> bool:
    """Whether all of a text is chatter, titles, a block of code, or too short to be read by itself.
    A line of code that somebody asks to have remembered is kept."""
    folded = fold(text).replace("’", "'")
    words = "".join(c if c.isalnum() or c == "'" else " " for c in folded).split()
    letters = "".join(words).replace("'", "")
    lines = (line for line in text.split("\n") if line.strip())
    return bool(
        GATE["chatter"].fullmatch(" ".join(words))
        or _is_data(text.strip())
        or len(letters) + len(WIDE.findall(letters)) < _LEAST
        or all(map(GATE["title"].fullmatch, lines))
    )


def _is_data(text: str) -> bool:
    """True for a block of code or JSON without any prose."""
    if GATE["fenced"].fullmatch(text):
        return True
    with suppress(ValueError, RecursionError):
        return text.startswith(("{", "[")) and isinstance(json.loads(text), dict | list)
    return False


def passing(text: str) -> dict[str, str]:
    """Returns why a statement will not last, ``dispute`` (still open) or ``stale`` (for now), and
    the words that say so."""
    said = GATE["mentioned"].sub(lambda match: " " * len(match[0]), simplified(text))
    found = {reason: GATE[reason].search(said) for reason in ("dispute", "stale")}
    return {why: text[one.start() : one.end()] for why, one in found.items() if one is not None}


def is_off_the_record(text: str) -> bool:
    """True if the words ask that they, or those before, are not kept."""
    plain = _plain(text)
    return any(GATE[name].search(plain) for name in ("unkept_zh", "unkept_en", "last_unkept"))


def drops_the_last(text: str) -> bool:
    """True if they ask it of what was said just before."""
    plain = _plain(text)
    asked = GATE["unkept_zh"].search(plain)
    of_past = asked and GATE["past"].search(asked[0])
    return bool(of_past or GATE["last_unkept"].search(plain))


def asks_to_forget(text: str) -> bool:
    """True if the words hold a wish that something is forgotten or deleted. What is asked for
    besides is the model's to read."""
    return GATE["to_be_forgotten"].search(_plain(text.casefold())) is not None


def without_forget_wishes(text: str) -> str:
    """Returns the sentences that hold no such wish."""
    return "".join(one for one in SENTENCE_ENDS.split(text) if not asks_to_forget(one)).strip()


def _plain(text: str) -> str:
    return narrowed(text).replace("\u2019", "'")


_EACH_END: Final = 5_000
"""Characters searched at each end of a long text: a regular expression holds the GIL meanwhile."""
_BEFORE: Final = 40
"""Characters before a request in which a negation counts."""
_CLAUSE: Final = re.compile(r"[，。！？；,.!?;:：\n]")


def is_confidence(text: str) -> bool:
    """True if the speaker of ``text`` asks to keep it secret. A false positive costs a sentence
    that has to be said again, so a text that reads like a request for silence counts as one; a text
    that names secrecy without asking for it (保密协议, 不用保密, a title) does not."""
    if len(text) > 2 * _EACH_END:  # a request for silence is before or after its subject
        text = f"{text[:_EACH_END]}\n{text[-_EACH_END:]}"
    plain = GATE["work_title"].sub(" ", _seen(text).replace("’", "'"))
    return any(_asks(language, plain) for language in ("zh", "en"))


def told_in_confidence(told: Memory | MemoryDraft, *more: str) -> bool:
    """The same of all its texts, and of what else belongs to it."""
    said = (told.judgment, told.reasoning, *told.tags, *told.asks, told.context)
    return any(map(is_confidence, (*said, *more)))


def _asks(language: str, text: str) -> bool:
    taken_back = GATE[f"no_confidence_{language}"]
    for match in GATE[f"confidence_{language}"].finditer(text):
        before = text[max(match.start() - _BEFORE, 0) : match.start()]
        if not taken_back.search(_CLAUSE.split(before)[-1]):
            return True
    return False


def _seen(text: str) -> str:
    return _UNSEEN.sub("", simplified(unicodedata.normalize("NFKC", text)))


def order_like(text: str) -> Order | None:
    """Returns what the text is trying, None if it does not read like an order. ``takeover``: to
    override rules, assume another role, forge our marks or extract secrets, which is never a rule.
    ``standing``: to be obeyed from now on, which is a rule if a trusted speaker says it."""
    seen = _seen(text)
    return next((one for one in _ORDERS if GATE[one].search(seen)), None)


def is_quotation(texts: Iterable[str], *, trusted: bool) -> bool:
    """True if a speaker's text is shown as a quotation: an order that is not vouched for. A label:
    its origin keeps it from being obeyed. An order inside quotation marks is reported speech; from
    a trusted speaker, whose order would become a rule, it counts as one all the same."""
    said = simplified("\n".join(texts))
    unquoted = said if trusted else GATE["reported"].sub(" ", said)
    like = order_like(unquoted if unquoted.strip() else said)
    return like == "takeover" or (like == "standing" and not trusted)


_YEAR = re.compile("[0-9]{4}")
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001  (asked is only whether there is a day)
_LONGEST_ORDER, _LONGEST = 400, 160
"""Characters. A longer text is a forwarded page, which has a 必须 somewhere."""
_BY_KIND = {
    MemoryKind.EMOTIONAL: Topic.PREFERENCES,
    MemoryKind.TASK: Topic.TASKS,
    MemoryKind.SKILL: Topic.PATTERNS,
}
_BY_WORDS = {
    "decision": Topic.DECISIONS,
    "preference": Topic.PREFERENCES,
    "lesson": Topic.PATTERNS,
}


def route(kind: MemoryKind, text: str, *, trusted: bool) -> Topic:
    """Returns the topic for a memory. Only a trusted speaker reaches the instructions, and nobody
    with a text that would override existing rules. Knowledge without a more specific word is a
    lasting state of a person or a thing, unless it has a day."""
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    text = simplified(text)
    if kind is MemoryKind.EVENT:
        if GATE["decision"].search(text):
            return Topic.DECISIONS
        return Topic.ENTITIES if GATE["schedule"].search(text) else Topic.JOURNAL
    like = order_like(text)
    plain = len(text) <= _LONGEST and like != "takeover"
    asks = "?" in text or "？" in text
    orders = like == "standing" and len(text) <= _LONGEST_ORDER
    rules = plain and not asks and GATE["instruction"].search(text)
    if trusted and (orders or rules):
        return Topic.INSTRUCTIONS
    for words, topic in _BY_WORDS.items():
        if GATE[words].search(text):
            return topic
    lasts = plain and GATE["nobody"].match(text) is None and not _is_dated(text)
    return Topic.ENTITIES if lasts else Topic.JOURNAL


def _is_dated(text: str) -> bool:
    days = (one for one in find_times(text, _ANY_TIME) if one.precision is Precision.DAY)
    return any(day.relative or _YEAR.search(day.words) for day in days)


def topic_for(memory: Memory, wanted: Topic | None = None) -> Topic:
    """Returns the topic for an entry, whose quotations no speaker vouches for. ``wanted`` decides
    in place of the words, but leads only a trusted speaker to the instructions."""
    obeyed = memory.provenance.trusted and not memory.quoted
    if wanted is not None and (obeyed or wanted is not Topic.INSTRUCTIONS):
        return wanted
    return route(memory.kind, memory.judgment, trusted=obeyed)
