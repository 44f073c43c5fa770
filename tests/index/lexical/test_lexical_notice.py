"""An index of words that keeps failing is told to the owner, until it works again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.lexical_port import (
    LexicalMatches,
    LexicalQuery,
    LexicalRecord,
)
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.notices import Notice, NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import InMemoryLexicalIndex
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running

pytestmark = pytest.mark.engine


class Faulty(InMemoryLexicalIndex):
    """Fails so many times to open, to write and to search as it is told to."""

    def __init__(self, *, openings: int = 0, writes: int = 0, searches: int = 0) -> None:
        super().__init__()
        self.opened = 0
        self.left = {"open": openings, "write": writes, "search": searches}

    def _once(self, what: str, code: str = "fault") -> None:
        if self.left[what] > 0:
            self.left[what] -= 1
            raise IndexUnavailable(f"cannot {what}", code=code)

    def open(self) -> str:
        self._once("open")
        self.opened += 1
        return super().open()

    def write(self, records: Sequence[LexicalRecord], gone: Collection[Key]) -> None:
        self._once("write", "busy")
        super().write(records, gone)

    def search(
        self,
        query: LexicalQuery,
        scope_filter: ScopeFilter,
        k: int,
        fresh: Sequence[LexicalRecord] = (),
    ) -> LexicalMatches:
        self._once("search")
        return super().search(query, scope_filter, k, fresh)


async def standing(rig: Rig) -> list[Notice]:
    notices = (await rig.engine.status()).notices
    return [notice for notice in notices if notice.code is NoticeCode.LEXICAL_OFF]


def said(rig: Rig) -> int:
    return sum(notice.code is NoticeCode.LEXICAL_OFF for notice in rig.notices)


async def test_what_fails_for_good_is_told_once_and_recall_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path, words=Faulty(openings=10**9)) as rig:
        await rig.remember("小明对猫毛过敏", group(777))

        async def told() -> list[Notice] | None:
            return await standing(rig) or None

        (notice,) = await until(told, within=30, what="a notice")
        assert notice.params == {"detail": "cannot open"}
        assert await rig.texts("谁对猫毛过敏", group(777)) == ["小明对猫毛过敏"]
        assert said(rig) == 1


async def test_a_fault_or_two_are_nobodys_business(tmp_path: Path) -> None:
    async with running(tmp_path, words=Faulty(openings=2)) as rig:
        await rig.until_words()
        assert said(rig) == 0


async def test_when_it_opens_again_the_notice_goes(tmp_path: Path) -> None:
    async with running(tmp_path, words=Faulty(openings=5)) as rig:
        await rig.until_words()
        assert (said(rig), await standing(rig)) == (1, [])


async def test_what_cannot_be_written_for_long_is_told_until_it_can(tmp_path: Path) -> None:
    words = Faulty(writes=5)
    async with running(tmp_path, words=words) as rig:
        await rig.until_words()
        await rig.remember("小明对猫毛过敏", group(777))

        async def written() -> bool | None:
            return bool(words.shelf.records) or None

        await until(written, within=30, what="a record")
        assert said(rig) == 1
        await rig.recall("谁对猫毛过敏", group(777))
        assert await standing(rig) == []


async def test_what_opens_and_answers_nobody_is_not_well_until_it_answers(tmp_path: Path) -> None:
    words = Faulty(searches=4)
    async with running(tmp_path, words=words) as rig:
        for number in range(4):
            await rig.until_words()
            await rig.recall("谁对猫毛过敏", group(777))

            async def noticed(openings: int = number + 2) -> bool | None:
                return words.opened == openings or None

            await until(noticed, within=30, what="another opening")
        await rig.until_words()
        assert said(rig) == 1
        assert len(await standing(rig)) == 1
        await rig.recall("谁对猫毛过敏", group(777))
        assert await standing(rig) == []
