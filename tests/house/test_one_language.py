"""What a person reads at the command line stands in the catalogue, in one language a line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import checkout
import pytest
import yaml

from astrbot_plugin_scoped_memory.tests.house.source import Module, module, modules

pytestmark = pytest.mark.unit

MODULES = modules(
    "llm_memory/home",
    "llm_memory/cli",
    "llm_memory/mcp_server",
    "llm_memory/sharing",
    "llm_memory/__main__.py",
    "llm_memory/errors.py",
    "llm_memory/index/embedding/service",
    "llm_memory/composition/caches.py",
    "llm_memory/composition/openclaw_adoption.py",
    "llm_memory/migration/openclaw_store.py",
    "llm_memory/models/workflow.py",
    "llm_memory/service/catching_up.py",
    "llm_memory/storage/toml_file.py",
    "llm_memory/storage/workflow_file.py",
)
HAN = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
CHINESE = re.compile("[\u4e00-\u9fff]{2}")
"""A text, and neither a range of characters nor one that somebody types."""


def texts_in(node: ast.AST) -> Iterator[str]:
    """The Chinese literals; what is logged is for the log alone."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"))):
            return
        case ast.Constant(value=str(text)) if CHINESE.search(text):
            yield text
    for child in ast.iter_child_nodes(node):
        yield from texts_in(child)


@pytest.mark.parametrize("found_in", MODULES, ids=lambda found_in: found_in.path)
def test_no_text_stands_in_the_code(found_in: Module) -> None:
    assert list(texts_in(found_in.tree)) == []


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("say('没有')", True),
        ("say(f'没有 {x}')", True),
        ("raise HomeError('读不了 ' '/ cannot be read')", True),
        ("NAMES = {1: ['没有']}", True),
        ("logger.info('没有 {}', x)", False),
        ("logger.info(text('没有'))", False),
        ("YES = {'是'}", False),
        ("say('cli.nothing_changed')", False),
    ],
)
def test_what_the_check_sees(source: str, *, wrong: bool) -> None:
    assert bool(list(texts_in(module(source).tree))) is wrong


@pytest.mark.parametrize("name", ["cli", "common", "home"])
def test_a_line_has_one_language(name: str) -> None:
    for language in ("zh-CN", "en-US"):
        file = checkout.ROOT / f"llm_memory/i18n/{language}/{name}.yaml"
        for group, texts in yaml.safe_load(file.read_text("utf-8")).items():
            for code, text in texts.items():
                both = HAN.search(text) and (language == "en-US" or re.search(r" /($| )", text))
                assert not both, f"{language}: {group}.{code}"
