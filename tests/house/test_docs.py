"""The docs say what the code does: settings, commands, tools, warnings, formats, links."""

import ast
import json
import re
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from astrbot_plugin_scoped_memory.core.commands.command_words import COMMANDS
from astrbot_plugin_scoped_memory.core.config import PluginConfig, read_config
from astrbot_plugin_scoped_memory.llm_memory import (
    DmScope,
    EngineSettings,
    GroupScope,
    LoopSettings,
    MigrationMode,
    PrivacyMode,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, MemoryKind, Source
from astrbot_plugin_scoped_memory.llm_memory.models.scope import role_folder
from astrbot_plugin_scoped_memory.llm_memory.models.soul import SoulEvolution
from astrbot_plugin_scoped_memory.llm_memory.models.workflow import (
    TOPK,
    WORKFLOW_KEYS,
    parse_workflow,
)
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.gate import route
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, catalogue
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.escaping import unescape
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import TopicFile, parse_file
from astrbot_plugin_scoped_memory.tests.house.source import (
    ROOT,
    files,
    module_at,
    modules,
    script,
)

pytestmark = pytest.mark.astrbot

DOCS = ROOT / "docs"
PAGES = (*sorted(ROOT.glob("README*.md")), *sorted(DOCS.rglob("*.md")))
VAULT = (DOCS / "vault.md").read_text(encoding="utf-8")
TROUBLES = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
LONGEST_HINT = 60
PANEL_ALONE = "show_advanced"
"""What folds the panel's page and is nothing to the plugin."""
NOW = datetime(2026, 11, 22, 8, tzinfo=UTC)


@pytest.fixture(scope="module")
def make_docs() -> ModuleType:
    return script("make_docs")


def schema() -> dict[str, dict[str, Any]]:
    loaded: dict[str, dict[str, Any]] = json.loads(
        (ROOT / "_conf_schema.json").read_text(encoding="utf-8")
    )
    return loaded


def test_the_generated_parts_are_up_to_date(make_docs: ModuleType) -> None:
    again = "run scripts/make_docs.py"
    assert make_docs.CONFIGURATION.read_text("utf-8") == make_docs.configuration(), again
    assert make_docs.troubleshooting(TROUBLES) == TROUBLES, again


def test_a_hint_is_short_and_the_long_form_stands_in_the_page(make_docs: ModuleType) -> None:
    settings = dict(make_docs.leaves(schema()))
    for name, setting in settings.items():
        assert len(setting.get("hint", "")) <= LONGEST_HINT, name
    page = make_docs.configuration()
    long = yaml.safe_load((ROOT / "scripts" / "settings.yaml").read_text(encoding="utf-8"))
    assert set(long) <= set(settings)
    for texts in long.values():
        assert all(text.replace("<", "\\<") in page for text in texts.values())


def names_read() -> set[str]:
    """The texts that core/config.py holds, and the fields that it fills by their names."""
    tree = module_at(ROOT / "core" / "config.py").tree
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    filled = {
        one.name for made in (PluginConfig, EngineSettings, LoopSettings) for one in fields(made)
    }
    return filled | {value for value in constants if isinstance(value, str)}


def test_every_setting_is_read_by_its_name() -> None:
    tops = set(schema())
    inner = {key for setting in schema().values() for key in setting.get("items", {})}
    assert tops | inner <= names_read() | {PANEL_ALONE}


CHOICES: dict[str, tuple[set[str], Callable[[PluginConfig], str | None]]] = {
    "dm_scope": (set(DmScope), lambda config: config.engine.dm_scope),
    "group_scope": (set(GroupScope), lambda config: config.engine.group_scope),
    "language": (set(LANGUAGES), lambda config: config.language),
    "advanced.migration_mode": (
        set(MigrationMode),
        lambda config: config.engine.migration_mode,
    ),
    "soul_evolution": (set(SoulEvolution), lambda config: config.engine.soul_evolution),
    "privacy_mode": (set(PrivacyMode), lambda config: config.engine.privacy_mode),
}


def with_options() -> dict[str, list[str]]:
    """The options of each setting that has some, by its dotted name."""
    inner = schema()["advanced"]["items"].items()
    every = {**schema(), **{f"advanced.{name}": setting for name, setting in inner}}
    return {name: setting["options"] for name, setting in every.items() if "options" in setting}


@pytest.mark.parametrize("name", with_options())
def test_every_option_of_the_panel_is_understood(name: str) -> None:
    known, value_in = CHOICES[name]
    options = with_options()[name]
    assert set(options) == known
    for option in options:
        place, _, inner = name.rpartition(".")
        config = read_config({place: {inner: option}} if place else {name: option})
        assert (value_in(config), config.warnings) == (option, ())


def said() -> str:
    """All pages."""
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def test_no_other_advanced_setting_is_documented() -> None:
    known = {f"advanced.{name}" for name in schema()["advanced"]["items"]}
    assert set(re.findall(r"advanced\.\w+", said())) == known


def test_every_command_is_documented_and_no_other() -> None:
    text = said()
    for row in COMMANDS:
        shown = [alias for alias in row.aliases.split() if f"`/记忆 {alias}" in text]
        assert len(shown) == 1, row  # one Chinese word is shown, further ones just work
    written = set(re.findall(r"`/memory ([a-z]+)", text))
    assert written == {row.called("en") for row in COMMANDS}


def tool_names() -> set[str]:
    """The functions that a model may call."""
    return {
        node.name
        for module in modules("tools")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.AsyncFunctionDef)
        and any(isinstance(one, ast.Name) and one.id == "tool" for one in node.decorator_list)
    }


def test_every_tool_is_documented() -> None:
    found = tool_names()
    assert "core_memory_remember" in found
    assert {name for name in found if f"`{name}`" not in said()} == set()


def test_the_documented_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    written = {
        word
        for line in re.findall(r"(?:^|`)make ([a-z -]+)", said(), re.MULTILINE)
        for word in line.split()
    }
    assert {"demo", "test", "help"} <= written <= targets


def sections_of(text: str) -> dict[str, list[str]]:
    """By the code in their headings: the lines that are neither empty nor a quote, with heading."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
        head, *lines = section.splitlines()
        code = re.search(r"`([a-z_.]+)`", head)
        assert code is not None, head
        found[code[1]] = [head, *(line for line in lines if line and not line.startswith(">"))]
    return found


def test_every_warning_is_explained_on_both_pages_and_no_other_code() -> None:
    sections = sections_of(TROUBLES)
    logged = {code for code in catalogue("zh-CN") if code.startswith("log.")}
    notices = {code[7:] for code in catalogue("zh-CN") if code.startswith("notice.")}
    assert set(sections) <= notices | logged
    assert [code for code in notices if len(sections.get(code, [])) < 2] == []
    lines = (DOCS / "reliability.md").read_text(encoding="utf-8").splitlines()
    for code in {*sections, *notices}:
        assert sum(line.startswith(f"**[`{code}`]") for line in lines) == 1, code


@pytest.mark.parametrize("group", ["file", "cause"])
def test_what_is_filled_into_a_warning_is_explained(group: str) -> None:
    for code, text in catalogue("zh-CN").items():
        if code.startswith(f"{group}."):
            assert text.removeprefix("它") in TROUBLES


def test_every_reason_of_an_embedder_is_explained() -> None:
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in files("llm_memory/index/embedding")
    )
    codes = set(re.findall(r'(?:EmbeddingFailed|Fault)\(\s*f?"([a-z_]+)[":]', source))
    assert {"model_changed", "broken_model"} < codes
    for code in codes - {"closed", "no_vector"}:  # no owner meets these: the next call is fine
        assert f"`{code}`" in TROUBLES, code


def examples() -> list[str]:
    """The Markdown examples of vault.md."""
    return re.findall(r"^```markdown\n(.*?)^```$", VAULT, re.MULTILINE | re.DOTALL)


def parsed(text: str) -> TopicFile:
    return parse_file(text, fallback_time=NOW)


def test_every_example_is_an_entry() -> None:
    assert len(examples()) >= 3
    for example in examples():
        (entry,) = parsed(example).entries
        assert (entry.start, entry.end) == (0, example.count("\n") + 1)


def test_the_first_example_is_what_the_plugin_writes() -> None:
    first = examples()[0]
    (entry,) = parsed(first).entries
    memory = entry.memory
    assert render(memory) == first
    assert (memory.judgment, memory.tags) == ("奶奶对花生过敏", ("奶奶", "饮食"))
    assert memory.extra == ()


def test_a_heading_and_an_id_are_enough() -> None:
    (entry,) = parsed(examples()[1]).entries
    assert entry.memory == Memory("m-key1", "备用钥匙在门卫那里", NOW)


def test_the_kinds_and_sources_are_all_named() -> None:
    for word in (*MemoryKind, *Source):
        assert word.value in VAULT


def test_each_row_of_the_routing_table_is_true() -> None:
    row = r"^\| (..记忆)(，可信[^|]*)? \| ([^|]+) \| `([^`]+)` \|$"
    rows = re.findall(row, VAULT, re.MULTILINE)
    assert len(rows) >= 8
    for kind, trusted, words, path in rows:
        topic = route(MemoryKind(kind), words, trusted=bool(trusted))
        assert re.split(r"[./]", path)[0] == topic, words


def test_each_row_of_the_table_of_personas_is_true() -> None:
    rows = re.findall(r"^\| ([^|`]+) \| `roles/([^`]+)/` \|$", VAULT, re.MULTILINE)
    assert len(rows) >= 4
    for persona, folder in rows:
        assert role_folder(persona) == folder


def test_each_row_of_the_escape_table_is_true() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", VAULT, re.MULTILINE)
    assert len(rows) >= 6
    for written, meant in rows:
        assert unescape(written) == meant


def test_each_key_of_a_projects_file_has_a_row_with_its_default() -> None:
    page = (DOCS / "projects.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:`\[\w+\]` )?`(\w+)` \| ([^|]+) \| ", page, re.MULTILINE)
    assert [key for key, _ in rows] == [key for keys in WORKFLOW_KEYS.values() for key in keys]
    silent = parse_workflow(Path("workflow.toml"), {"memory": {}})
    assert silent.has_roles
    assert {"layout": '`"project+roles"`', "auto_inject_topk": f"`{TOPK}`"}.items() <= dict(
        rows
    ).items()


def anchors(page: Path) -> set[str]:
    """The ids that a forge gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {slug(heading) for heading in headings}


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    for link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize(
    "page", ["house.md", "projects.md", "reliability.md", "dev/engine.md", "dev/decisions.md"]
)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|core|tools|llm_memory|harness|scripts)/[\w./]*)`", text)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
