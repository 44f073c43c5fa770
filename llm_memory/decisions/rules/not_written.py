"""What a record should not say: what is still open, what holds for now, who said it.

A person may publish it all the same; an account never.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...models.conversation import Actor
from ...models.data_models import Memory, Objection
from ...models.decisions import Reference
from ...models.scope import Scope
from ...remember.rules.gate import passing
from ...text.scripts import normalise

_LEAST_NAME: Final = 2
_LEAST_ACCOUNT: Final = 4
_REFERENCE: Final = re.compile(r"(?:[\w.-]{1,100}/[\w.-]{1,100})?#\d{1,9}|https?://[^\s<>]{1,190}")


def objections(memory: Memory, scope: Scope) -> Iterator[Objection]:
    """Yields what a person has to overrule before the proposal is published."""
    yield from passing(memory.judgment).items()
    names = [] if _is_agents(memory) else [memory.provenance.who]
    names += [*([] if scope.is_public else [scope.name]), *filter(str.isalpha, _accounts(memory))]
    text = _published(memory)
    named = (name for name in dict.fromkeys(names) if _stands_in(normalise(name), text))
    yield from (("names_speaker", name) for name in named if len(name) >= _LEAST_NAME)


def account_in(memory: Memory) -> str:
    """Returns the account or conversation of the speaker that the words name, empty for none. One
    that is a plain word may be meant as that: it is a name, which a person may let pass."""
    ids = (part for part in _accounts(memory) if not part.isalpha())
    return next((part for part in ids if normalise(part) in _published(memory)), "")


def _published(memory: Memory) -> str:
    return normalise(f"{memory.judgment}\n{memory.reasoning}")


def _accounts(memory: Memory) -> list[str]:
    """Returns none of a coding agent's: the names of a program and of its project are no secret."""
    known = [] if _is_agents(memory) else [memory.provenance.person, memory.provenance.conversation]
    parts = (part for named in known for part in (named, named.rpartition(":")[2]))
    return [part for part in parts if len(part) >= _LEAST_ACCOUNT]


def _is_agents(memory: Memory) -> bool:
    return Actor(memory.provenance.person, "").is_agent


def _stands_in(name: str, text: str) -> bool:
    """Both in normal form. False for ``ann`` in ``planned``."""
    before = "(?<![a-z0-9])" if name[:1].isascii() else ""
    behind = "(?![a-z0-9])" if name[-1:].isascii() else ""
    return re.search(f"{before}{re.escape(name)}{behind}", text) is not None


def read_reference(reference: Reference) -> Reference | None:
    """Returns the reference as it is written, ``12`` as ``#12``; None if it is none."""
    read = [f"#{text}" if text.isdecimal() else text for text in (reference.issue, reference.pr)]
    sound = all(not text or _REFERENCE.fullmatch(text) for text in read)
    return Reference(*read) if sound else None
