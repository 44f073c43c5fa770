"""Every outcome has its English words, and what clients are shown of the tools stays short."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest

from astrbot_plugin_scoped_memory.llm_memory import TaskFate
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.hit_lines import WHO
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.sdk import INSTRUCTIONS, make_server
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.texts import FATES, PARTS
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.tools import MemoryTools
from astrbot_plugin_scoped_memory.llm_memory.primer.models import PrimerPart
from astrbot_plugin_scoped_memory.llm_memory.texts import catalogue
from astrbot_plugin_scoped_memory.tests.house.source import ROOT
from astrbot_plugin_scoped_memory.tests.support.agents.agents import levels

pytestmark = pytest.mark.unit

MOST = 3_000
"""Characters of all definitions together: they stand in a client's context all the time."""
PARAMETERS = {
    "memory_primer": {},
    "memory_search": {"query": True, "scope": False, "max_tokens": False},
    "memory_log": {"content": True, "type": False},
    "memory_session_end": {"summary": True},
    "memory_update_tasks": {"tasks_json": True},
    "memory_read": {"path": True},
}
"""By tool and parameter: whether it must be there."""
READS = {"memory_primer", "memory_search", "memory_read"}
HAN = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


def server() -> Any:
    """A server over no memory, which only says what it offers."""
    nothing: Any = None
    return make_server(MemoryTools(levels(nothing)), "0.0.1")


def test_every_outcome_has_words() -> None:
    assert set(FATES) < set(get_args(TaskFate))
    assert set(PARTS) == set(PrimerPart)
    said, lines = (
        (ROOT / "llm_memory" / path).read_text("utf-8")
        for path in ("text/attribution.py", "mcp_server/hit_lines.py")
    )
    asked = re.findall(r'["\']((?:common|inject|talk)\.\w+)', said)
    asked += re.findall(r'who\("(\S+)"\)', lines)
    english = catalogue("en-US")  # which the hook has no time to read
    named = (f"inject.{name}" for name in re.findall(r'"(\w+)"', said))
    asked += [code for code in named if code in english]
    assert {code: english[code] for code in asked} == WHO
    for table in (FATES, PARTS, WHO):
        assert all(text.strip() and not HAN.search(text) for text in table.values())


async def test_the_definitions_are_short_and_english() -> None:
    tools = await server().list_tools()
    assert [tool.name for tool in tools] == list(PARAMETERS)
    shown = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert len(json.dumps(shown)) <= MOST
    assert not HAN.search(json.dumps(shown, ensure_ascii=False) + INSTRUCTIONS)
    for tool in shown:
        schema = tool["inputSchema"]
        taken = PARAMETERS[tool["name"]]
        assert len(tool["description"].split()) > 8
        assert list(schema["properties"]) == list(taken)
        assert schema.get("required", []) == [name for name, must in taken.items() if must]
        assert "outputSchema" not in tool  # every answer would be sent twice
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is (tool["name"] in READS)
        assert hints["openWorldHint"] is False
        if tool["name"] not in READS:
            assert (hints["destructiveHint"], hints["idempotentHint"]) == (False, True)
