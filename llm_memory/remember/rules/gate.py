"""What a draft must be to become a memory: tidied, worth one, neither off the record nor told in
confidence; and what reads like an order to the bot. The words are in ``gate.txt``.

Refusing a text that the speaker wanted kept costs more than keeping a line of chatter.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import Final

from ...models.data_models import MAX_STRENGTH, MIN_STRENGTH, Memory, MemoryDraft, Reason, Refused
from ...text.normalising import clean, one_line
from ...text.numerals import narrowed
from ...text.scripts import WIDE, fold
from ...text.traditional import simplified
from . import GATE

MAX_JUDGMENT = 2_000
MAX_REASONING = 8_000
MAX_TAGS = 12
MAX_TAG = 40
MAX_ASKS = 3
MAX_ASK = 80
MAX_NAME = 64
_LEAST: Final = 4
"""A Han character, kana or Hangul syllable counts two, any other letter or digit one."""
_UNSEEN: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")


def tidy(draft: MemoryDraft) -> MemoryDraft | Refused:
    """Returns the draft as it may be stored: visible characters only, lengths bounded. A text that
    is too long is rejected, for half a memory is a wrong one; labels are cut."""
    judgment, reasoning = clean(draft.judgment), clean(draft.reasoning)
    for text, most in ((judgment, MAX_JUDGMENT), (reasoning, MAX_REASONING)):
        if len(text) > most:
            return Refused(Reason.TOO_LONG, detail=str(most))
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
    """Returns whether all of a text is chatter, titles, a block of code, or too short to be read by
    itself. A line of code that somebody asks to have remembered is kept."""
    folded = fold(text).replace("’", "'")
    words = "".join(c if c.isalnum() or c == "'" else " " for c in folded).split()
    if GATE["chatter"].fullmatch(" ".join(words)) or _is_data(text.strip()):
        return True
    letters = "".join(words).replace("'", "")
    lines = (line for line in text.split("\n") if line.strip())
    too_short = len(letters) + len(WIDE.findall(letters)) < _LEAST
    return too_short or all(map(GATE["title"].fullmatch, lines))


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
    said = GATE["mentioned"].sub("", text)
    found = {reason: GATE[reason].search(said) for reason in ("dispute", "stale")}
    return {reason: match[0] for reason, match in found.items() if match is not None}


def is_off_the_record(text: str) -> bool:
    """True if the words ask that they, or those before, are not kept."""
    return _asks_for(text, "unkept_zh", "unkept_en") or drops_the_last(text)


def drops_the_last(text: str) -> bool:
    """True if they ask it of what was said just before."""
    asked = GATE["unkept_zh"].search(_plain(text))
    of_past = asked is not None and GATE["past"].search(asked[0]) is not None
    return of_past or _asks_for(text, "last_unkept_zh", "last_unkept_en")


def _asks_for(text: str, *names: str) -> bool:
    plain = _plain(text)
    return any(GATE[name].search(plain) for name in names)


def asks_to_forget(text: str) -> bool:
    """True if the words hold a wish that something is forgotten or deleted. What is asked for
    besides is the model's to read."""
    return _asks_for(text.casefold(), "to_be_forgotten")


_SENTENCES: Final = re.compile(r"(?<=[。！？；!?;\n])|(?<=\.)(?=\s)")


def without_forget_wishes(text: str) -> str:
    """Returns the sentences that hold no such wish."""
    return "".join(one for one in _SENTENCES.split(text) if not asks_to_forget(one)).strip()


def _plain(text: str) -> str:
    return simplified(narrowed(text)).replace("\u2019", "'")


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
    plain = GATE["work_title"].sub(" ", simplified(_seen(text).replace("’", "'")))
    return _asks("zh", plain) or _asks("en", plain)


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
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", text))


class OrderLike(StrEnum):
    """What a text is trying."""

    TAKEOVER = "takeover"
    """To override rules, assume another role, forge our marks or extract secrets: never a rule."""
    STANDING = "standing"
    """To be obeyed from now on: it is a rule if a trusted speaker says it."""


def order_like(text: str) -> OrderLike | None:
    """Returns what the text is trying, None if it does not read like an order."""
    seen = _seen(text)
    return next((one for one in OrderLike if GATE[one].search(seen)), None)


def is_quotation(texts: Iterable[str], *, trusted: bool) -> bool:
    """True if a speaker's text is shown as a quotation: an order that is not vouched for. A label:
    its origin keeps it from being obeyed. An order inside quotation marks is reported speech; from
    a trusted speaker, whose order would become a rule, it counts as one all the same."""
    said = "\n".join(texts)
    unquoted = said if trusted else GATE["reported"].sub(" ", said)
    like = order_like(unquoted if unquoted.strip() else said)
    return like is OrderLike.TAKEOVER or (like is OrderLike.STANDING and not trusted)
