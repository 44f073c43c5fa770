"""Builds the prompt of the reflection model. Pure.

Two parts: ``system`` has the instructions and changes with a setting alone, so that services can
cache it; ``user`` has the turns and the memories that were shown for them, as JSON lines between
marks that no text can forge. The instructions, ``reader`` of the catalogue, say that these are
data.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from heapq import nlargest
from itertools import accumulate
from typing import Final

from ...catalogue.rules.event_day import told_day
from ...models.conversation import Actor
from ...models.data_models import StoredMemory, shown_day
from ...models.turns import QueuedTurn
from ...text.normalising import estimate_tokens, preview
from ...text.overlap import content
from ...texts import Spoken, Texts

REPLY_TOKENS: Final = 1_500
"""Reserved for the answer in budget checks."""
LEAST_TOKENS: Final = 740
"""Tokens of a prompt with one short turn."""
MOST_TURNS: Final = 40
MOST_TURN_TOKENS: Final = 5_000
"""The most tokens of all turns of a prompt."""
_MOST_KNOWN: Final = 30
_KNOWN_CHARS: Final = 160
_TURN_CHARS: Final = (2_000, 1_000, 500, 240, 120, 60)
"""Limits for the text of a turn, tried in order until the turns fit."""
_QUOTED_REPLY = 1_000
_MOST_RELATED: Final = 12
_LEAST_SHARED: Final = 2
"""What a related memory shares with a turn at least: a Han character counts one, a word two."""
NOBODY: Final = Actor("", "")


@dataclass(frozen=True, slots=True)
class Speaker:
    """``label`` is ``s1``, ``s2``, …; the actor, under the name that was used last, is for
    provenance: admins have no special rights here."""

    label: str
    actor: Actor


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in two parts. ``shown``: the texts of the memories in it, by their ids."""

    system: str
    user: str
    spoken: Spoken = "zh"
    shown: Mapping[str, str] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.system) + estimate_tokens(self.user)

    def again(self, reply: str, reason: str) -> Prompt:
        """Returns the prompt with the error of the first answer and, if given, that answer."""
        texts = Texts.of(self.spoken)
        told = [self.user, "", texts.say("reader.again", reason=reason)]
        if reply:
            quoted = as_data(preview(reply, _QUOTED_REPLY))
            told.append(texts.say("reader.again_shown", reply=quoted))
        return replace(self, user="\n".join(told))


@cache
def instructions() -> str:
    """Returns what a model is told in each language: what repeats it is nothing that was said."""
    codes = ("reader.instructions", "reader.manner")
    return "\n".join(Texts.of(spoken).say(code) for spoken in ("zh", "en") for code in codes)


@cache
def placeholders() -> frozenset[str]:
    """Returns what the instructions write where the model is to write something."""
    return frozenset(re.findall('"([^"\n]+)"', instructions()))


def reflection_prompt(
    turns: Sequence[QueuedTurn],
    known: Sequence[StoredMemory],
    *,
    most_tokens: int,
    proposes: bool = False,
    manner: bool = False,
    spoken: Spoken = "zh",
) -> Prompt:
    """Returns a prompt of one conversation's turns, the oldest first, and the memories known then.

    Texts are cut, and memories left out, until it has at most ``most_tokens``; the smallest version
    is returned even if it has more. ``proposes``: it also asks which memories are decisions;
    ``manner``: and who wished for another manner of the bot.
    """
    texts = Texts.of(spoken)
    asked = {"instructions": True, "decisions": proposes, "manner": manner}
    system = "\n".join(texts.say(f"reader.{code}") for code, wanted in asked.items() if wanted)
    names = {
        label: texts.say("reader.named", name=one.name, person=one.person)
        if one.name and one.person
        else one.name or one.person or texts.say("reader.nobody")
        for label, one in ((speaker.label, speaker.actor) for speaker in speakers(turns))
    }
    head = texts.say("reader.speakers", names=as_data(names))
    told = {
        one.memory_id: {
            "id": one.memory_id,
            "who": one.who,
            "date": shown_day(told_day(one), ""),
            "text": preview(one.judgment, _KNOWN_CHARS),
        }
        for one in (stored.memory for stored in known[:_MOST_KNOWN])
    }
    prompt = Prompt(system, "", spoken, {name: one["text"] for name, one in told.items()})
    lines = ["<known>", *map(as_data, told.values()), "</known>"] if told else []
    for chars, shown in (*((chars, lines) for chars in _TURN_CHARS), (_TURN_CHARS[-1], [])):
        said = _turn_lines(turns, chars, texts)
        prompt = replace(prompt, user="\n".join((head, *shown, "<turns>", *said, "</turns>")))
        if prompt.tokens <= most_tokens:
            break
    return prompt


def how_many_fit(turns: Sequence[QueuedTurn], most_tokens: int) -> int:
    """Returns how many of the first turns fit into a prompt of ``most_tokens``; at least one."""
    lines = _turn_lines(turns[:MOST_TURNS], _TURN_CHARS[0], Texts.of("zh"))
    left = min(most_tokens - LEAST_TOKENS, MOST_TURN_TOKENS)
    return max(sum(cost <= left for cost in accumulate(map(estimate_tokens, lines))), 1)


def related(turns: Sequence[QueuedTurn], memories: Sequence[StoredMemory]) -> list[StoredMemory]:
    """Returns, of memories from the turns' own scope, those of each turn's speaker that share the
    most words with one of the turns. Recall finds what answers a message; a statement often
    corrects other memories than those."""
    said: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for turn in turns:
        said[turn.person].append(content(turn.user_text) - content(turn.who))
    shared = []
    for stored in memories:
        origin, words = stored.memory.provenance, content(stored.memory.judgment)
        told = said[origin.person] if origin.person else []
        both = (words & one - content(origin.who) for one in told)
        shared.append(max((sum(1 + one.isascii() for one in some) for some in both), default=0))
    best = nlargest(_MOST_RELATED, range(len(shared)), key=shared.__getitem__)
    return [memories[place] for place in best if shared[place] >= _LEAST_SHARED]


def speakers(turns: Sequence[QueuedTurn]) -> list[Speaker]:
    """Returns the speaker of each turn. The same person has the same label, by id or, without one,
    by name."""
    known = [turn.person or ("name", turn.who) for turn in turns]
    labels = {one: f"s{number}" for number, one in enumerate(dict.fromkeys(known), start=1)}
    names = {one: turn.who for one, turn in zip(known, turns, strict=True)}
    return [
        Speaker(labels[one], Actor(turn.person, names[one]))
        for one, turn in zip(known, turns, strict=True)
    ]


def as_data(value: object) -> str:
    """Returns JSON that cannot close a mark."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def _turn_lines(turns: Sequence[QueuedTurn], chars: int, texts: Texts) -> list[str]:
    days = texts.say("reader.weekdays").split()
    told = (
        {
            "turn": number,
            "time": f"{turn.observed_at:%Y-%m-%d %H:%M} {days[turn.observed_at.weekday()]}",
            "who": speaker.label,
            "said": preview(turn.user_text, chars),
            **({"bot": preview(turn.reply_text, chars)} if turn.reply_text else {}),
            **({"recalled": list(turn.recalled)} if turn.recalled else {}),
        }
        for number, (turn, speaker) in enumerate(zip(turns, speakers(turns), strict=True), start=1)
    )
    return [as_data(line) for line in told]
