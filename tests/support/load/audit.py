"""After the noise: is what was acknowledged found by its own words?"""

from __future__ import annotations

import random

from astrbot_plugin_scoped_memory.llm_memory import Expanded
from astrbot_plugin_scoped_memory.tests.support.load.cast import (
    CONVERSATIONS,
    conversation,
    scope_of,
)
from astrbot_plugin_scoped_memory.tests.support.load.player import Common

_SAMPLE = 200


async def audit(common: Common, chance: random.Random) -> tuple[int, int]:
    """(found by recall, looked for), of a sample of all that lives, each asked for in its scope."""
    scene = common.stage.scene
    readers = {
        scope_of(conversation(number).umo, scene.scope_map): conversation(number)
        for number in range(CONVERSATIONS)
    }
    found = looked = 0
    for memory_id, scope in chance.sample(common.pointers, min(_SAMPLE, len(common.pointers))):
        here = readers.get(scope)
        if here is None:
            continue
        there = await scene.service.expand(memory_id, conversation_id=here)
        if not isinstance(there, Expanded):
            continue  # forgotten
        words = there.memory.memory.judgment
        recall = await scene.service.recall(words, conversation_id=here, limit=5, token_budget=5000)
        looked += 1
        found += memory_id in {hit.memory_id for hit in recall.hits}
    return found, looked
