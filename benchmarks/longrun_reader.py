"""A scripted model that reads turns as a real one would, faults included.

It learns what was mentioned, says some of it again, corrects what is not so any more, tells which
memories helped and which did not belong there. Now and then it fails, answers what is no JSON, or
names memories and scopes that are none of its business.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from longrun_checks import Leaks
from prompt_lines import data_lines

from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Completion
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens

_MENTIONED: Final = re.compile(
    r"我的(?P<topic>\S+?)(?P<verb>一直是|嘛，还是|换成)(?P<value>\S+?)了?。（\d+）"
)
_ASKED: Final = re.compile(r"(?P<who>\S+?)的(?P<topic>\S+?)是哪一种")
TROUBLE: Final = {"fail": 0.03, "broken": 0.03, "hostile": 0.05}
"""Shares of all calls."""


@dataclass
class BatchReader:
    """The port ChatModel. `scope_of` tells what a conversation may see."""

    scope_of: Callable[[str], str]
    leaks: Leaks
    trouble: bool = True
    calls: int = 0
    tokens: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    """By message: in how many calls that were answered as they should be it stood."""

    label = "scripted"

    def __post_init__(self) -> None:
        self._chance = random.Random(7)  # noqa: S311  (nobody's secret)
        self._ids: list[str] = []

    def is_there(self, conversation: str) -> bool:
        """Always."""
        return bool(self.label) or bool(conversation)

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        """What it makes of a prompt. ChatFailed now and then."""
        self.calls += 1
        self._look(prompt, conversation)
        kind = self._kind()
        self.kinds[kind] += 1
        spent = estimate_tokens(system) + estimate_tokens(prompt)
        if kind == "fail":
            self.tokens += spent
            raise ChatFailed("busy", "429")
        text = self._answer(kind, prompt)
        spent += estimate_tokens(text)
        self.tokens += spent
        return Completion(text, spent)

    def _look(self, prompt: str, conversation: str) -> None:
        self.leaks.look("sent", self.scope_of(conversation), [prompt])

    def _kind(self) -> str:
        drawn = self._chance.random() if self.trouble else 1.0
        for kind, share in TROUBLE.items():
            drawn -= share
            if drawn < 0:
                return kind
        return "plain"

    def _answer(self, kind: str, prompt: str) -> str:
        if kind == "broken":
            return '{"new_memories": [{"judgment": "没有说完'
        turns, known = list(data_lines(prompt, "turn")), list(data_lines(prompt, "id"))
        if not turns:  # the night asks for questions, and this model has none
            return "{}"
        self._ids += [memory["id"] for memory in known]
        self.read.update(turn["said"] for turn in turns)
        reply = _learn(turns, known, _names(prompt))
        if kind == "hostile":
            strange = self._chance.choices(self._ids, k=3) if self._ids else ["m-0000000000000000"]
            reply["useful_ids"] = strange
            if reply["new_memories"]:  # else such a field would have it asked again
                reply["scope"] = "public"
        return json.dumps(reply, ensure_ascii=False)


def _learn(
    turns: list[dict[str, Any]], known: list[dict[str, Any]], names: dict[str, str]
) -> dict[str, Any]:
    """The last word on each thing counts; what is known and holds is said again now and then."""
    shown = {name_and_topic(memory["text"]): memory for memory in known}
    reply: dict[str, Any] = {"useful_ids": [], "useless_ids": [], "new_memories": []}
    latest: dict[tuple[str, str], tuple[dict[str, Any], re.Match[str]]] = {}
    for turn in turns:
        if found := _MENTIONED.search(turn["said"]):
            latest[names[turn["who"]], found["topic"]] = (turn, found)
        asked = _ASKED.search(turn["said"])
        for memory in known:
            if memory["id"] not in turn.get("recalled", ()):
                continue
            helps = asked is not None and f"{asked['who']}的{asked['topic']}" in memory["text"]
            reply["useful_ids" if helps else "useless_ids"].append(memory["id"])
    reply["useful_ids"] = list(dict.fromkeys(reply["useful_ids"]))
    reply["useless_ids"] = [
        one for one in dict.fromkeys(reply["useless_ids"]) if one not in reply["useful_ids"]
    ]
    for (who, topic), (turn, found) in latest.items():
        old = shown.get((who, topic))
        new = {
            "judgment": f"{who}的{topic}是{found['value']}",
            "tags": [topic],
            "kind": "knowledge",
            "strength": 50,
            "turn": turn["turn"],
            "who": turn["who"],
        }
        if old is None or old["text"].endswith(found["value"]):
            reply["new_memories"].append(new)
        else:
            reply.setdefault("contradictions", []).append({"old_id": old["id"], "new": new})
    return reply


def name_and_topic(text: str) -> tuple[str, str]:
    """Of a memory that the reader has worded; empty for others."""
    found = re.match(r"(\S+?)的(\S+?)是", text)
    return (found[1], found[2]) if found else ("", "")


def _names(prompt: str) -> dict[str, str]:
    """By label."""
    told = re.search(r"^说话的人：(\{.*\})$", prompt, re.MULTILINE)
    names: dict[str, str] = json.loads(told[1]) if told else {}
    return {label: name.partition("（")[0] for label, name in names.items()}
