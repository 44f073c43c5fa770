"""A search says whether nothing like it was ever noted, or nothing is certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.replies.outcome_text import found_text
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.engines import group, running

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("奶奶对花生过敏吗", "search.head"),
        ("奶奶的护照", "search.unsure"),
        ("火星车的轮胎", "search.nothing"),
    ],
)
async def test_a_search_says_how_sure_it_is(tmp_path: Path, question: str, code: str) -> None:
    async with running(tmp_path, words_alone=True) as rig:
        await rig.remember("奶奶对花生过敏", group(777))
        await rig.until_words()
        recall = await rig.recall(question, group(777))
    for texts in map(Texts, LANGUAGES):
        assert found_text(texts, recall) == texts.say(code, count=1)
