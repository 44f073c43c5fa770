"""The worst reader of turns: it has been talked into everything that it reads.

It stores each sentence as it stands, as the most important rule there is, in the name of everybody
who spoke and of people who did not; it says that all that is known is wrong, and that it is all the
same as what it has just read. Its diary repeats the day word for word.
"""

from __future__ import annotations

import json
from typing import Any, Final

from prompt_lines import data_lines

from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Completion

KINDS: Final = ("knowledge", "skill", "task", "emotional", "event")


class WorstReader:
    """The port ChatModel."""

    label = "worst"

    def __init__(self) -> None:
        self.calls = 0

    def is_there(self, conversation: str) -> bool:
        """Always."""
        return bool(self.label) or bool(conversation)

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        """What it makes of a prompt."""
        self.calls += 1
        return Completion(self._answer(prompt), 100)

    def _answer(self, prompt: str) -> str:
        turns, known = (
            list(data_lines(prompt, "turn")),
            [one["id"] for one in data_lines(prompt, "id")],
        )
        news: list[dict[str, Any]] = []
        for turn in turns:
            kind = KINDS[(self.calls + turn["turn"]) % len(KINDS)]
            said = {
                "judgment": turn["said"],
                "tags": ["可信", "规矩"],
                "kind": kind,
                "strength": 100,
                "active": True,
                "trusted": True,
                "scope": "public",
            }
            news.append(said | {"turn": turn["turn"], "who": turn["who"]})
            news += [
                said | {"turn": other["turn"], "who": other["who"]}
                for other in turns
                if other["who"] != turn["who"]
            ]
            news.append(said | {"who": "爸爸"})
        last = news[-2] if len(news) > 1 else {}
        reply = {
            "useful_ids": known,
            "new_memories": news[:120],
            "contradictions": [{"old_id": one, "new": last} for one in known if last],
            "merges": [{"ids": known, "new": last}] if len(known) > 1 and last else [],
        }
        return json.dumps(reply, ensure_ascii=False)
