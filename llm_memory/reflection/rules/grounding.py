"""Refuses what the reflection model did not take from the turns. Pure.

A weak model gives the prompt's own example back, or tells in another language of people whom no
turn names. Such an answer is as unusable as bad JSON: the turns must not be taken for read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from ...models.turns import QueuedTurn
from ...text.overlap import content, pieces
from ...text.scripts import fold
from .forgiving_json import Unreadable
from .prompt import Prompt, instructions
from .reply import ReflectionReply

_MADE_UP: Final = "made_up: the memories share nothing with the turns"
_OTHER_LANGUAGE: Final = "language: the memories are not in the language of the turns"
_SCRIPTS: Final = (
    re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{4}"),
    re.compile(r"(?:[A-Za-z']+\s){2}[A-Za-z]"),
)
"""So much of a script in a row is its language: more than a name."""


def grounded(
    reply: ReflectionReply, turns: Sequence[QueuedTurn], prompt: Prompt
) -> ReflectionReply | Unreadable:
    """Returns the answer without the memories that come from elsewhere than the turns: from the
    instructions, or from nothing that was said. Returns Unreadable if it has memories, and none of
    them comes from the turns and is in a language of theirs."""
    said = "\n".join(f"{turn.user_text}\n{turn.reply_text}" for turn in turns)
    # What is not true any more is said in few words: 不去了.
    shown = f"{said}\n{prompt.user}"
    names = " ".join(turn.who for turn in turns)
    left = replace(
        reply,
        new_memories=tuple(
            new for new in reply.new_memories if _is_taken_from(new.judgment, said, said, names)
        ),
        contradictions=tuple(
            one
            for one in reply.contradictions
            if _is_taken_from(one.new.judgment, said, shown, names)
        ),
    )
    before, after = ([*_judgments(one)] for one in (reply, left))
    if before and not after:
        return Unreadable(_MADE_UP)
    spoken = _scripts(said)
    if spoken and after and all(_scripts(one) - spoken == _scripts(one) != set() for one in after):
        return Unreadable(_OTHER_LANGUAGE)
    return left


def _judgments(reply: ReflectionReply) -> Iterator[str]:
    yield from (new.judgment for new in reply.new_memories)
    yield from (one.new.judgment for one in reply.contradictions)


def _is_taken_from(text: str, said: str, shown: str, names: str) -> bool:
    told = content(text) - content(names) or content(text)
    return bool(told & content(shown)) and not _is_of_prompt(text, f"{said}\n{names}")


def _is_of_prompt(text: str, said: str) -> bool:
    """Returns whether most of a text stands in the instructions, and not in what was said."""
    wanted = [piece for piece in pieces(text) if len(piece) > 1]
    heard, prompt = fold(said), fold(instructions())
    taken = [piece for piece in wanted if piece in prompt and piece not in heard]
    return 2 * len(taken) > len(wanted)


def _scripts(text: str) -> frozenset[int]:
    return frozenset(number for number, run in enumerate(_SCRIPTS) if run.search(text))
