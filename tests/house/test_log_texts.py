"""From INFO up the engine's log is in the owner's language: every line is a text of the catalogue,
and no text of ``log.yaml`` is left that nobody asks for."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator

import pytest
import yaml

from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, catalogue
from astrbot_plugin_scoped_memory.tests.house.source import ROOT, Module, files, module, modules

pytestmark = pytest.mark.unit

SPOKEN = {"info", "warning", "error"}
HAN = re.compile("[\u4e00-\u9fff]")
MODULES = modules("llm_memory")


def calls(found_in: Module) -> Iterator[tuple[str, ast.Call]]:
    """The level and the call of each line that is logged."""
    for node in ast.walk(found_in.tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"), attr=level)):
                if level in SPOKEN | {"debug"}:
                    yield level, node


def fields(text: str) -> set[str]:
    """The placeholders of a text."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def faults(found_in: Module) -> list[str]:
    """What is wrong with the lines of a file, in each language."""
    found = []
    for level, call in calls(found_in):
        said = call.args[0] if len(call.args) else None
        text = said.value if isinstance(said, ast.Constant) else None
        where = f"{found_in.path}:{call.lineno}: {text}"
        if not isinstance(text, str):
            found.append(f"{where}: no literal")
        elif level == "debug":
            found += [f"{where}: not English"] if HAN.search(text) else []
        else:
            given = {keyword.arg for keyword in call.keywords}
            for language in LANGUAGES:
                template = catalogue(language).get(f"log.{text}")
                if template is None:
                    found.append(f"{where}: no text")
                elif fields(template) != given or len(call.args) > 1:
                    found.append(f"{where}: {sorted(fields(template))}")
    return found


def test_every_line_has_a_text_with_the_params_that_it_gives() -> None:
    assert [fault for found_in in MODULES for fault in faults(found_in)] == []
    assert sum(1 for found_in in MODULES for _ in calls(found_in)) > 100


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("logger.info('notes_read', count=1)", False),
        ("logger.debug('{} pieces', 1)", False),
        ("logger.info('notes_read')", True),
        ("logger.info('notes_read', 1)", True),
        ("logger.info('notes_read', count=1, more=2)", True),
        ("logger.error('no_such_code')", True),
        ("logger.warning('读不了：{}', error)", True),
        ("logger.warning(f'{error}')", True),
        ("logger.debug('读不了')", True),
    ],
)
def test_what_the_check_sees(code: str, *, wrong: bool) -> None:
    assert bool(faults(module(code))) is wrong


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_is_left_that_nobody_asks_for(language: str) -> None:
    place = ROOT / "llm_memory" / "i18n" / language / "log.yaml"
    texts = yaml.safe_load(place.read_text(encoding="utf-8"))
    assert set(texts) == {"log"}
    asked = {
        call.args[0].value
        for found_in in MODULES
        for level, call in calls(found_in)
        if level in SPOKEN and isinstance(call.args[0], ast.Constant)
    }
    for part in ("main.py", "core", "tools"):
        for path in files(part):  # one code is put together of two words
            asked.update(re.findall(r'"(?:log\.)?([a-z_]+)"', path.read_text(encoding="utf-8")))
    assert set(texts["log"]) - asked == set()
