"""What a new text of SOUL.md is refused for: size, form, secrets, ids, addresses, takeover.

No list of words says what a manner is: an admin who applies a text has been shown its diff. Each
finding names what must change; of a secret no character is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...models.soul import Finding
from ...remember.rules.gate import order_like
from ...remember.rules.private import find as find_secrets
from ...text.normalising import clean, normalise
from ...text.safe_text import cut
from ...text.scripts import fold
from ...texts import Said
from .soul_text import HEADINGS, MOST_TOKENS, injected, lines_of, manners, rules_of

LONGEST_RULE: Final = 120
_QUOTED: Final = 40
_IDS: Final = re.compile(
    r"@[a-z\d][\w.-]*"  # an account
    r"|\d{5,}"
    r"|[#^][mn]-\w*"  # a pointer to a memory or a note
    r"|[a-z]+://\S*|www\.\S*"
    r"|[\w-]+\.[a-z]{2,}/\w"
    r"|[\w-]+\.(?:com?|cn|cc|me|net|org|io|ai|tv|top|xyz|vip|app|dev|md|py|json|ya?ml)(?![a-z])"
    r"|\\\w+|(?<![^\W_])/\w+"  # a path or a command, and not "and/or"
    r"|[a-z][a-z\d_-]*:[a-z]+:\w+"  # a conversation
    r"|[a-z]{3,}_[a-z_]{3,}"  # a tool or a setting, and not "T_T"
)
_LONG_NUMBER: Final = re.compile(r"\d{6,}")
"""Of a number whose digits are parted or Chinese: 一二三四五 may number a list."""
_DIGITS: Final = str.maketrans("零〇一二三四五六七八九", "00123456789")
_JOINED_DIGITS: Final = re.compile(r"(?<=\d)[\s,，.·-]+(?=\d)")


def complaints(old: str, new: str) -> tuple[Finding, ...]:
    """Returns what refuses a new text over the one in force, whose lines are not judged again;
    empty for nothing. Of a line the first complaint is told."""
    of_the_whole = {
        "encoding": "\ufffd" in new and "\ufffd" not in old,
        "same": " ".join(fold(old).split()) == " ".join(fold(new).split()),
        "prompt_tokens": injected(new).count("\n- ") < len(rules_of(new)),
    }
    said = [code for code, is_so in of_the_whole.items() if is_so]
    whole = [Finding(Said(f"soul_rule.{code}", most=MOST_TOKENS)) for code in said]
    return (*whole, *_by_line(old, new))


def added_rules(old: str, new: str) -> tuple[str, ...]:
    """Returns the rules that somebody has worded and that are not in force."""
    known = {*rules_of(old), *manners()}
    return tuple(rule for rule in rules_of(new) if rule not in known)


def _by_line(old: str, new: str) -> Iterator[Finding]:
    worded, seen, stood = set(added_rules(old, new)), set[str](), set(old.split("\n"))
    for line in lines_of(new):
        said = normalise(line.rule)
        if line.is_odd and line.written not in stood:
            yield Finding(Said("soul_rule.headings", headings=HEADINGS), line.number)
        elif line.rule and said in seen:
            yield Finding(Said("soul_rule.rule_twice"), line.number)
        elif line.rule in worded and (ails := _ails(line.rule)):
            yield Finding(ails, line.number)
        seen.add(said)


def _ails(rule: str) -> Said | None:
    """Returns what is wrong with a rule, whatever stands beside it."""
    if find_secrets(rule):
        return Said("soul_rule.secret")
    if named := _IDS.search(fold(rule)) or _LONG_NUMBER.search(figures(rule)):
        return Said("soul_rule.id", words=cut(named[0], _QUOTED))
    if order_like(rule) == "takeover":
        return Said("soul_rule.takeover", words=cut(rule, _QUOTED))
    if clean(rule) != rule.strip() or len(rule.splitlines()) > 1:
        return Said("soul_rule.invisible")
    if len(rule) > LONGEST_RULE:
        return Said("soul_rule.rule_characters", most=LONGEST_RULE, count=len(rule))
    return None


def figures(text: str) -> str:
    """Returns a text with its digits in a row: Chinese numerals too, whatever parts them."""
    return _JOINED_DIGITS.sub("", fold(text).translate(_DIGITS))
