"""The same law as in test_vault_law, where the process may end before and after each single write:
of the bot's own deeds, and while it takes in what people did. What it was about to do is then done
or not done, and nothing else is lost, doubled or half there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.tests.support.programs.crashes import crash_at
from astrbot_plugin_scoped_memory.tests.vault.test_vault_law import (
    SCOPES,
    Step,
    Story,
    acts,
    play,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

DEPTH = 12
"""The writes of one deed, a moment before and one after each."""


class Fragile(Story):
    """A story whose bot may be killed at any moment. ``kills`` counts how often it was."""

    kills = 0

    async def killed(
        self,
        moment: int,
        action: Callable[[], Coroutine[Any, Any, object]],
        done: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin a deed, end at that moment, start again. ``done`` is what comes of it if the deed
        was done; without one nothing but what is known already may come of it."""
        with crash_at(1 + moment % DEPTH) as clockwork:
            await action()
        Fragile.kills += clockwork.struck
        self.bot.stop()
        self.bot = self.made()
        await self.bot.start()
        await self.rest()
        if self.known() != sorted(self.alive):
            done()
        # An older editor buffer could not be distinguished from a person's edit.
        self.buffer = None
        await self.look()

    async def killed_while_looking(self, one: int, two: int) -> None:
        """People have done something, and the bot takes it in."""
        if self.unlooked:
            await self.killed(one + two, self.rest)

    async def killed_while_starting(self, one: int, two: int) -> None:
        self.bot.stop()
        self.bot = self.made()

        async def action() -> None:
            await self.bot.start()
            await self.rest()

        await self.killed(one + two, action)

    async def killed_while_saying(self, one: int, two: int) -> None:
        if self.unlooked:
            await self.look()
        scope, text = SCOPES[one % 2], self.new_text()

        def done() -> None:
            self.alive.append((scope.name, text))

        await self.killed(two, lambda: self.bot.says(text, scope), done)

    async def killed_while_saying_again(self, one: int, two: int) -> None:
        stored = self.pick(one)
        if stored is None or self.unlooked or stored.memory.provenance.person == "":
            return
        await self.killed(two, lambda: self.bot.says(stored.memory.judgment, stored.scope))

    async def killed_while_editing(self, one: int, two: int) -> None:
        stored = self.pick(one)
        if stored is None or self.unlooked:
            return
        text = self.new_text()

        def done() -> None:
            self.alive.remove((stored.scope.name, stored.memory.judgment))
            self.alive.append((stored.scope.name, text))

        await self.killed(
            two, lambda: self.bot.edits(stored.memory.memory_id, text, stored.scope), done
        )

    async def killed_while_forgetting(self, one: int, two: int) -> None:
        stored = self.pick(one)
        if stored is None or self.unlooked:
            return
        memory_id, words = stored.memory.memory_id, stored.memory.judgment
        self.left.add((self.path(stored), memory_id))

        def done() -> None:
            self.alive.remove((stored.scope.name, words))
            self.forgotten[memory_id] = stored.scope, words

        await self.killed(two, lambda: self.bot.forgets(memory_id, stored.scope), done)

    async def killed_while_restoring(self, one: int, two: int) -> None:
        if self.unlooked:
            await self.look()
        if not self.forgotten:
            return
        memory_id = sorted(self.forgotten)[one % len(self.forgotten)]
        scope, words = self.forgotten[memory_id]

        def done() -> None:
            del self.forgotten[memory_id]
            self.alive.append((scope.name, words))

        await self.killed(two, lambda: self.bot.restores(memory_id, scope), done)

    async def killed_while_moving(self, one: int, two: int) -> None:
        stored = self.pick(one)
        if stored is None or self.unlooked:
            return
        self.left.add((self.path(stored), stored.memory.memory_id))
        target = SCOPES[0] if stored.scope == SCOPES[1] else SCOPES[1]

        def done() -> None:
            self.alive.remove((stored.scope.name, stored.memory.judgment))
            self.alive.append((target.name, stored.memory.judgment))

        async def action() -> None:
            self.bot.vault.move(stored, target)

        await self.killed(two, action, done)


killings = [name for name in vars(Fragile) if name.startswith("killed_")]
hands = [name for name in acts if name.startswith("hand_")]
moments = st.integers(0, DEPTH - 1)
actions = st.tuples(st.sampled_from(acts), moments, moments).map(lambda step: [step])
deaths = st.tuples(st.sampled_from(killings), moments, moments).map(lambda step: [step])
taken_in = st.tuples(st.sampled_from(hands), moments, moments, moments, moments).map(
    lambda s: [(s[0], s[1], s[2]), ("killed_while_looking", s[3], s[4])]
)
stories = st.lists(st.one_of(actions, deaths, taken_in), max_size=12).map(
    lambda parts: [step for part in parts for step in part]
)


@given(stories)
@settings(max_examples=max(5, settings().max_examples // 3))
def test_a_deed_that_was_cut_off_is_done_or_not_done_and_nothing_else_is_lost(
    story: list[Step],
) -> None:
    asyncio.run(play(story, Fragile))


def test_a_move_back_that_was_cut_off_loses_nothing_where_the_archive_has_it() -> None:
    """It was cut off while it was forgotten, too: the archive of that scope has its words."""
    there_and_back = [("killed_while_moving", 0, DEPTH - 1), ("killed_while_moving", 0, 3)]
    asyncio.run(
        play([("says", 0, 0), ("crashes_while_forgetting", 0, 0), *there_and_back], Fragile)
    )


@pytest.mark.process
@pytest.mark.parametrize("action", killings)
def test_the_process_really_ends_at_the_first_moments_of_each_deed(action: str) -> None:
    for moment in range(4):
        kills = Fragile.kills
        setting = [("says", 0, 0)] * 4 + [("forgets", 0, 0), ("looks", 0, 0)]
        if action in ("killed_while_looking", "killed_while_starting"):
            setting.append(("hand_deletes", 0, 0))
        asyncio.run(play([*setting, (action, 0, moment)], Fragile))
        assert Fragile.kills == kills + 1, moment
