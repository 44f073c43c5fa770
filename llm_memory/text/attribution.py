"""Says of a hit who said it and what is to be known of that, wherever a model reads it. Pure.

``say`` returns the text of a code in the reader's language; the codes are those of ``inject`` and
``common.and``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..models.recall import PRIVATE, UNKNOWN, Byline, Hit
from .safe_text import shown_name


class Say(Protocol):
    """The text of a code, with its parameters filled in."""

    def __call__(self, code: str, /, **params: object) -> str: ...


def speakers(hit: Hit, say: Say) -> str:
    """Who said it, each once, with what stands behind the name; a word where no speaker is
    known."""
    return names(hit, say, _byline)


def names(hit: Hit, say: Say, behind: Callable[[Byline, Say], str] = lambda *_: "") -> str:
    """The same with what ``behind`` says of a speaker; of a model's words, whose it retells."""
    named = [
        f"{name}{behind(one.byline, say)}" for one in (hit, *hit.also) if (name := _name(one, say))
    ]
    return (
        say("common.and").join(dict.fromkeys(named))
        or f"{say('inject.nobody')}{behind(hit.byline, say)}"
    )


def _name(hit: Hit, say: Say) -> str:
    if hit.who:
        return shown_name(hit.who) or say("talk.somebody")
    told = shown_name(hit.byline.retold)
    return say("inject.retold", who=told) if told else ""


def _byline(about: Byline, say: Say) -> str:
    """What stands behind a speaker's name, between brackets that no name can hold: an admin, the
    account, that no person here has said it, or not in these words, where it was heard. Empty where
    the name alone is enough."""
    where = shown_name(about.heard)
    heard = "heard_private" if about.heard == PRIVATE else "heard" if where else "heard_group"
    account = "account_unknown" if about.account == UNKNOWN else "account"
    said = {
        "admin": about.admin,
        account: about.account and not about.admin,
        "elsewhere": about.elsewhere,
        "reworded": about.reworded,
        heard: about.heard,
    }
    told = [say(f"inject.{code}", end=about.account, where=where) for code in said if said[code]]
    return f"〔{say('common.and').join(told)}〕" if told else ""


def standing(hit: Hit, say: Say) -> list[str]:
    """A word where it may be beside the question, one where something newer was said or the matter
    is settled, one for a proposal that nobody has decided on, the record's name for one that was
    accepted, and one where nobody vouches for it; a quotation is marked as such elsewhere."""
    known = {
        "weak": hit.weak,
        "closed": hit.closed,
        "earlier": hit.earlier and not hit.closed,
        "undecided": hit.undecided,
    }
    found = [say(f"inject.{code}") for code, is_so in known.items() if is_so]
    if hit.record:
        from ..models.decisions import record_name  # a hook waits for what is imported at once

        found.append(record_name(hit.record))
    unvouched = not hit.quoted and all(one.unvouched for one in (hit, *hit.also))
    return [*found, say("inject.unvouched")] if unvouched else found
