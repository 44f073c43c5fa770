"""Whether a rule is about manner and nothing else.

A rule passes when all its words are known (``manner_words``) or cited (``manner_cited``), one of
them is about manner, and none is turned round: what is honest is not negated, what is bad is. A
list of bad phrases would let through what nobody has thought of.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from ...texts import Said
from .manner_cited import read_cited, without_faces
from .manner_orders import order_in, why_strange
from .manner_reading import Token, clauses_of, folded
from .manner_words import ACTS, BREAKS, CONDITIONS, GENTLE, JOINS, LESS, NEUTRAL, REFUSALS, Word

CHARACTERS: Final = Said("soul_rule.characters")
NO_TOPIC: Final = Said("soul_rule.no_topic")
HONEST: Final = Said("soul_rule.honest")
BAD: Final = Said("soul_rule.bad")

_ALLOWED: Final = re.compile(
    "(?:[A-Za-z0-9\u4e00-\u9fff\xe9 ]"
    "|[\u2010-\u2015\u2018\u2019\u201c\u201d\u2026\u3001\u3002\u300a-\u300f]"
    "|[\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff5e~,.;:!?'\"()%-]"
    "|[\u2600-\u27bf\U0001f300-\U0001f3fa\U0001f400-\U0001f64f\U0001f680-\U0001f6ff"
    "\U0001f900-\U0001f9ff]\ufe0f?)+"
)
_EMOJI: Final = re.compile("[\u2600-\u27bf\U0001f300-\U0001f9ff]")
_MOST_EMOJI: Final = 3
_MOST_NAMED: Final = 3
_LONGEST_NAMED: Final = 16
_COUNTED: Final = re.compile(
    r"(?:\d|[一二两三四五六七八九十几])\s*个?(?:句|字|段|行|条)"
    r"|\b(?:\d+|one|two|three|four|five|six|ten|few|couple of) (?:short |full )?"
    r"(?:sentence|word|line|paragraph|point)s?\b"
)


def objection(rule: str) -> Said | None:
    """Returns why a rule is not about manner alone, None where it is. Takes any text; of its words
    the answer names the strange ones alone."""
    plain = without_faces(rule)
    if not _ALLOWED.fullmatch(plain) or len(_EMOJI.findall(rule)) > _MOST_EMOJI:
        return CHARACTERS
    written = folded(plain)
    seen = read_cited(written)
    clauses = list(clauses_of(seen))
    kinds = {token.kind for clause in clauses for token in clause}
    if (means_more := order_in(written)) is not None:
        return means_more
    if Word.STRANGE in kinds:
        return _naming(_strange_words(clauses), why_strange(seen))
    if not kinds & {Word.TOPIC, Word.BAD, Word.HONEST, Word.UNSURE} and not _COUNTED.search(seen):
        return NO_TOPIC
    return _turned(clauses)


def _strange_words(clauses: list[list[Token]]) -> list[str]:
    """Returns the strange parts: English words, and runs of Chinese characters of which one is in
    no known word."""
    found: list[str] = []
    for clause in clauses:
        for single, run in groupby(clause, lambda token: len(token.text) == 1):
            tokens = list(run)
            strange = [token.text for token in tokens if token.kind is Word.STRANGE]
            if strange and single:
                found.append("".join(token.text for token in tokens))
            else:
                found += strange
    return list(dict.fromkeys(found))


def _naming(words: list[str], why: Said) -> Said:
    named = [word[:_LONGEST_NAMED] for word in words[:_MOST_NAMED]]
    return Said("soul_rule.named", words=tuple(f"“{word}”" for word in named), why=why)


def _turned(clauses: list[list[Token]]) -> Said | None:
    """Says what is turned round: honesty negated, or what is bad asked for."""
    unsure = any(token.kind is Word.UNSURE for clause in clauses for token in clause)
    acts = False
    gentle = any(_is_gentle(clause) for clause in clauses)
    carried = False
    for clause in clauses:
        kinds = {token.kind for token in clause}
        words = {token.text for token in clause}
        negated, bad = Word.NEGATION in kinds, Word.BAD in kinds
        if unsure and ((negated and not bad) or (Word.UNSURE in kinds and words & {"也", "even"})):
            return HONEST
        acts = acts or Word.HONEST in kinds or (not negated and bool(words & ACTS)) or bad
        if _honesty_negated(clause):
            return HONEST
        alone = all(token.kind is Word.BAD or token.text in JOINS for token in clause)
        inherits = carried and alone
        if not inherits and (why := _bad_wanted(clause, gentle=gentle)):
            return why
        carried = inherits or (negated and bad)
    return HONEST if unsure and not acts else None


def _is_gentle(clause: list[Token]) -> bool:
    for token in clause:
        if token.text in GENTLE or token.kind is Word.NEGATION:
            return token.kind is not Word.NEGATION
    return False


def _honesty_negated(clause: list[Token]) -> bool:
    """Says whether a negation concerns what is honest, before it or behind; behind, it may concern
    what is bad instead."""
    kinds = [token.kind for token in clause]
    guarded = [
        place
        for place, token in enumerate(clause)
        if token.kind is Word.HONEST or token.text in REFUSALS
    ]
    if guarded and any(token.text in LESS for token in clause):
        return True
    if not guarded or Word.NEGATION not in kinds:
        return False
    negation = kinds.index(Word.NEGATION)
    return negation < guarded[-1] or Word.BAD not in kinds[negation:]


def _bad_wanted(clause: list[Token], *, gentle: bool) -> Said | None:
    sensitive = {Word.BAD, Word.DELICATE}
    # "说教少一点", "废话不要说": the negation stands at the end.
    last = [token for token in clause if token.text not in {"说", "用", "写", "了"}][-1:]
    within = (
        bool(last)
        and last[0].kind is Word.NEGATION
        and sum(token.kind is Word.NEGATION for token in clause) == 1
    )
    ended = within
    conditional = any(token.text in CONDITIONS for token in clause)
    since_negation = False
    before: Token | None = None
    for token in clause:
        match token.kind:
            case Word.NEGATION:
                if since_negation and any(one.kind in sensitive for one in clause):
                    return BAD
                within = since_negation = True
            case Word.BAD if not within:
                return BAD
            case Word.DELICATE if not within and not (gentle and conditional):
                return BAD
            case Word.BAD | Word.DELICATE:
                since_negation = False
            case Word.TOPIC if token.text not in NEUTRAL:
                within = ended
            case _ if token.text in BREAKS:
                joins = token.text in JOINS and before is not None and before.kind in sensitive
                within = ended or (within and joins)
        before = token
    return None
