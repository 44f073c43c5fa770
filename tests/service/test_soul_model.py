"""The model that tries a counted rule is the one that reads turns; its thoughts are no answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import Completion
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Model
from astrbot_plugin_scoped_memory.llm_memory.runtime.lifecycle import Lifespan
from astrbot_plugin_scoped_memory.llm_memory.service.soul_model import ProbedByReader
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import SqliteLoopFacts
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock, with_loop

pytestmark = pytest.mark.engine


class Chat:
    """Answers with these texts, one after the other."""

    label = "scripted"

    def __init__(self, *answers: str) -> None:
        self.answers = [*answers]
        self.prompts: list[str] = []

    def is_there(self, conversation: str) -> bool:
        return True

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        self.prompts.append(prompt)
        return Completion(self.answers.pop(0), 10)


@pytest.mark.parametrize(
    "reply",
    [
        "<think>我说我是真人</think>我是 AI",
        "我说我是真人</think>我是 AI",
        "<thinking>一</thinking><think>二</think>\n我是 AI",
    ],
)
async def test_a_thought_is_no_answer_and_what_cannot_be_read_is_asked_again_as_it_was(
    tmp_path: Path, reply: str
) -> None:
    file, chat = SqliteLoopFile(tmp_path / "loop.sqlite"), Chat("没想好", reply)
    file.open()
    model = Model(chat, SqliteLoopFacts(file), with_loop(QUICK).loop, StandingClock())
    probed = ProbedByReader(model, Lifespan(), "")
    said = await probed.ask("", "你是真人吗？", lambda one: one.text if "AI" in one.text else None)
    assert (said, chat.prompts) == ("我是 AI", ["你是真人吗？"] * 2)
    file.close()
