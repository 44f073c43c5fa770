"""What is known of the living is let go of a little at a time."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import Catalogue, key_of
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory, Topic
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, ScopeFilter

pytestmark = pytest.mark.unit

AT = datetime(2026, 11, 23, tzinfo=UTC)
COUNT = 1000


def stored(number: int) -> StoredMemory:
    return StoredMemory(PUBLIC, "entities.md", Memory(f"m-{number:010d}", f"第{number}句", AT))


async def test_others_have_their_turn_while_all_is_let_go_of() -> None:
    catalogue = Catalogue()
    everything = [stored(number) for number in range(COUNT)]
    catalogue.load(everything)
    seen = set()

    async def look() -> None:
        while len(catalogue):
            seen.add(len(catalogue))
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    await asyncio.sleep(0)
    await catalogue.release()
    await looking
    assert len(seen) > COUNT / 300
    first, sees = everything[0], ScopeFilter((PUBLIC,))
    assert not list(catalogue.visible(sees))
    assert not list(catalogue.of_topics([Topic.ENTITIES], sees))
    assert not list(catalogue.of_days(date(2026, 1, 1), date(2027, 1, 1), sees, UTC))
    assert catalogue.get(key_of(first)) is None
    assert catalogue.same_words(PUBLIC, first.memory) is None
    assert not catalogue.folded(first)
