"""The model that tries a counted rule is the one that reads turns; its thoughts are no answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import Completion
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Model
from astrbot_plugin_scoped_memory.llm_memory.runtime.lifecycle import Lifespan
from astrbot_plugin_scoped_memory.llm_memory.service.soul_model import ProbedByReader
from astrbot_plugin_scoped_memory.llm_memory.soul.evaluation import ProbeAnswer
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


@pytest.fixture
async def book(tmp_path: Path) -> AsyncIterator[SqliteLoopFacts]:
    file = SqliteLoopFile(tmp_path / "loop.sqlite")
    file.open()
    yield SqliteLoopFacts(file)
    file.close()


def probed(chat: Chat, book: SqliteLoopFacts, tokens: int = 10**6) -> ProbedByReader:
    loop = with_loop(QUICK, daily_tokens=tokens).loop
    return ProbedByReader(Model(chat, book, loop, StandingClock()), Lifespan(), "")


def said(answer: ProbeAnswer) -> str | None:
    return None if answer.text == "?" else answer.text


@pytest.mark.parametrize(
    "reply",
    [
        "<think>我说我是真人</think>我是 AI",
        "我说我是真人</think>我是 AI",
        "<thinking>一</thinking><think>二</think>\n我是 AI",
        "我是 AI",
    ],
)
async def test_what_stands_before_the_end_of_a_thought_is_no_answer(
    book: SqliteLoopFacts, reply: str
) -> None:
    assert await probed(Chat(reply), book).ask("", "你是真人吗？", said) == "我是 AI"


async def test_an_answer_that_cannot_be_read_is_asked_for_once_more_as_it_was(
    book: SqliteLoopFacts,
) -> None:
    chat = Chat("?", "在的", "?", "?")
    model = probed(chat, book)
    assert await model.ask("", "在吗？", said) == "在的"
    assert chat.prompts == ["在吗？"] * 2
    with pytest.raises(ChatFailed):
        await model.ask("", "在吗？", said)


async def test_a_day_without_tokens_affords_nothing(book: SqliteLoopFacts) -> None:
    assert await probed(Chat(), book).affords("字" * 100)
    assert not await probed(Chat(), book, tokens=2_000).affords("字" * 10_000)
