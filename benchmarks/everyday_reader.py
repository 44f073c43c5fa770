"""A scripted reader of turns that learns just what a cast says that each turn teaches."""

from __future__ import annotations

import json
from typing import Any, Final

from everyday_cast import Cast, Talk
from prompt_lines import data_lines

from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Completion
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens

_COMPARED: Final = 40
"""Characters that tell a turn: what is long or private may be cut or hidden further on."""


class CastReader:
    """The port ChatModel. Each turn teaches once, whatever else stands in a prompt."""

    label = "scripted"

    def __init__(self, cast: Cast) -> None:
        self._talk = {_told(one.said): one for one in cast.talk if one.learned}
        self.calls = 0
        self.prompt_tokens = 0
        self.tokens = 0

    def is_there(self, conversation: str) -> bool:
        """Always: ``conversation`` may be any."""
        return bool(self.label) or bool(conversation)

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        """What a good reader answers."""
        self.calls += 1
        text = self._answer(prompt)
        asked = estimate_tokens(system) + estimate_tokens(prompt)
        spent = asked + estimate_tokens(text)
        self.prompt_tokens += asked
        self.tokens += spent
        return Completion(text, spent)

    def _answer(self, prompt: str) -> str:
        known = list(data_lines(prompt, "id"))
        reply: dict[str, list[Any]] = {"new_memories": [], "contradictions": []}
        for turn in data_lines(prompt, "turn"):
            talk = self._talk.get(_told(turn["said"]))
            if talk is not None:
                self._teach(talk, turn, known, reply)
        return json.dumps({k: v for k, v in reply.items() if v}, ensure_ascii=False)

    @staticmethod
    def _teach(
        talk: Talk, turn: dict[str, Any], known: list[dict[str, Any]], reply: dict[str, list[Any]]
    ) -> None:
        for lesson in talk.learned:
            new = {"judgment": lesson["judgment"], "kind": lesson.get("kind", "knowledge")}
            new |= {"strength": 60, "turn": turn["turn"], "who": turn["who"]}
            new |= {name: lesson[name] for name in ("tags", "asks") if lesson.get(name)}
            words = lesson.get("replaces")
            old = next((one["id"] for one in known if words and words in one["text"]), None)
            if words and old is None:  # said and taken back in one talk: as it is in the end
                fresh = reply["new_memories"]
                fresh[:] = [one for one in fresh if words not in one["judgment"]]
            if old is None:
                reply["new_memories"].append(new)
            else:
                reply["contradictions"].append({"old_id": old, "new": new})


def _told(said: str) -> str:
    return "".join(said.split())[:_COMPARED]
