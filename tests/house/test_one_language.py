"""What a person reads at the command line is in one language a line, never "中文 / English"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from astrbot_plugin_scoped_memory.tests.house.source import Module, module, modules

pytestmark = pytest.mark.unit

MODULES = modules(
    "llm_memory/home",
    "llm_memory/cli",
    "llm_memory/mcp_server",
    "llm_memory/sharing",
    "llm_memory/__main__.py",
    "llm_memory/composition/caches.py",
    "llm_memory/composition/openclaw_adoption.py",
    "llm_memory/service/catching_up.py",
    "llm_memory/storage/toml_file.py",
    "llm_memory/storage/workflow_file.py",
)
HAN = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
PAIRS = {"HomeError", "NoOwner", "Refusal", "Said", "say", "say_value", "fail", "words"}
"""What takes the same line twice: Chinese, then English."""


def text_of(node: ast.AST) -> str:
    """What a literal says; what it fills in is a pair of braces."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) or "{}" for part in parts)
        case ast.BinOp(left=left, right=right):
            return text_of(left) + text_of(right)
    return ""


def wrong_lines(found_in: Module) -> list[str]:
    """Returns the texts that hold both languages, or stand in the place of the other one."""
    found = []
    for node in ast.walk(found_in.tree):
        text = text_of(node)
        if HAN.search(text) and re.search(r" /($| )", text):
            found.append(text)
        found += [en for en in halves(node) if HAN.search(en)]
    return found


def halves(node: ast.AST) -> Iterator[str]:
    """The English ones."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[_, en, *_]) if name in PAIRS:
            yield text_of(en)
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(id="zh"), ast.Name(id="en")])],
            value=ast.Tuple(elts=[_, en]),
        ):
            yield text_of(en)


@pytest.mark.parametrize("found_in", MODULES, ids=lambda found_in: found_in.path)
def test_a_line_has_one_language(found_in: Module) -> None:
    assert wrong_lines(found_in) == []


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("say('没有 / none')", True),
        ("say(f'没有 {x} / no {x}')", True),
        ("raise HomeError('读不了 / ' 'cannot be read')", True),
        ("NAMES = ['用法 / usage']", True),
        ("say('没有', '没有')", True),
        ("zh, en = f'{x}：没有', f'{x}：none'", True),
        ("say('读 a/b', 'read a/b')", False),
        ("say('有', 'yes / no')", False),
        ("zh, en = '没有', 'none'", False),
    ],
)
def test_what_the_check_sees(source: str, *, wrong: bool) -> None:
    assert bool(wrong_lines(module(source))) is wrong
