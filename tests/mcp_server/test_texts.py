"""What the tools say exists in both languages, and what clients are shown stays short."""

from __future__ import annotations

import json
import re
import string
from enum import StrEnum
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import RejectReason, TaskFate
from astrbot_plugin_scoped_memory.llm_memory.home import setting_values as module
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.arguments import SIGNATURES
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.sdk import make_server
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.texts import Texts
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.tools import MemoryTools
from astrbot_plugin_scoped_memory.llm_memory.primer.models import PrimerPart
from astrbot_plugin_scoped_memory.tests.house.source import ROOT
from astrbot_plugin_scoped_memory.tests.support.agents.agents import LANGUAGES, levels

pytestmark = pytest.mark.unit

MOST = 3_000
"""Characters of all definitions together: they stand in a client's context all the time."""
PLAIN = {*SIGNATURES, "instructions"}
READS = {"memory_primer", "memory_search", "memory_read"}
TABLES = {language: Texts.of(language).table for language in LANGUAGES}


def fields(text: str) -> set[str]:
    """The names in braces."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def server(language: str) -> Any:
    """A server over no memory, which only says what it offers."""
    texts = Texts.of(language)
    nothing: Any = None
    return make_server(MemoryTools(levels(nothing), texts), texts, "0.0.1")


def test_both_languages_say_the_same_things() -> None:
    chinese, english = TABLES["zh"], TABLES["en"]
    assert chinese.keys() == english.keys()
    for code in chinese.keys() - PLAIN:
        assert fields(chinese[code]) == fields(english[code]), code
    assert all(text.strip() for table in TABLES.values() for text in table.values())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("prefix", "values"), [("reject_", RejectReason), ("fate_", TaskFate), ("part_", PrimerPart)]
)
def test_every_outcome_has_a_text(language: str, prefix: str, values: type[StrEnum]) -> None:
    missing = [value for value in values if f"{prefix}{value}" not in TABLES[language]]
    assert missing == []


def test_every_code_that_is_asked_for_has_a_text() -> None:
    folder = ROOT / "llm_memory" / "mcp_server"
    source = "\n".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    asked = set(re.findall(r'(?:say|plain|BadArgument)\(\s*"(\w+)"', source))
    assert len(asked) > 25
    assert asked - TABLES["en"].keys() == set()


def test_no_text_is_left_that_nothing_asks_for() -> None:
    engine = ROOT / "llm_memory"
    files = {*(engine / "mcp_server").glob("*.py"), engine / "text/attribution.py"}
    source = "\n".join(path.read_text("utf-8") for path in files if path.name != "texts.py")
    built = ("reject_", "fate_", "part_", "memory_")
    unused = [code for code in TABLES["en"] if not code.startswith(built) and code not in source]
    assert unused == []


@pytest.mark.parametrize(
    ("said", "language"),
    [("zh_CN.UTF-8", "zh"), ("zh", "zh"), ("en_US.UTF-8", "en"), ("C.UTF-8", "en"), ("", "en")],
)
def test_the_language_is_the_machines(
    said: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", said)
    monkeypatch.delenv("LANG", raising=False)
    monkeypatch.setattr(module.locale, "getlocale", lambda: (None, None))
    assert Texts.of("auto").language == language


def test_braces_in_what_a_client_wrote_are_no_fields() -> None:
    for language in LANGUAGES:
        assert "{0.__class__}" in Texts.of(language).say("absent", path="{0.__class__}")


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_definitions_are_short(language: str) -> None:
    tools = await server(language).list_tools()
    assert [tool.name for tool in tools] == list(SIGNATURES)
    shown = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert len(json.dumps(shown, ensure_ascii=False)) <= MOST
    assert len(json.dumps(shown)) <= MOST or language == "zh"
    for tool in shown:
        schema = tool["inputSchema"]
        taken = SIGNATURES[tool["name"]]
        assert list(schema["properties"]) == list(taken)
        assert schema.get("required", []) == [n for n, (_, must) in taken.items() if must]
        assert "outputSchema" not in tool  # every answer would be sent twice
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is (tool["name"] in READS)
        assert hints["openWorldHint"] is False
        if tool["name"] not in READS:
            assert (hints["destructiveHint"], hints["idempotentHint"]) == (False, True)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_there_is_one_resource(language: str) -> None:
    resources = await server(language).list_resources()
    assert [str(one.uri) for one in resources] == ["memory://primer"]
    assert await server(language).list_resource_templates() == []
