"""One walk over the source: nothing is done outside the doors that may do it, and each ban finds
what is planted. What is no code speaks of the plugin alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import checkout
import pytest
import yaml

from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES
from astrbot_plugin_scoped_memory.tests.house.bans import (
    SPOKEN,
    assemblies,
    cooperative_coroutines,
    heavy_imports,
    impurities,
    log_calls,
    made_scopes,
    opinions_on_scopes,
    parsed_scopes,
    pure_places,
    swallowed,
    texts_in_code,
    twice_named,
    writes_to_owners_places,
    wrong_log_lines,
)
from astrbot_plugin_scoped_memory.tests.house.source import (
    PARTS,
    ROOT,
    Module,
    files,
    module,
    modules,
)

pytestmark = pytest.mark.unit

# Written in two halves, so that this file does not contain what it looks for.
FORBIDDEN = re.compile(
    "|".join((
        "pypi" + r"\.org", "python" + r"hosted\.org", r"registry\." + "npmjs", "mirrors" + r"\.",
        r"registry\." + "yarnpkg", "pypi.tuna" + r"\.tsinghua", r"proxy\." + "golang",
        "crates" + r"\.io", "/wo" + "rk/", "/ro" + "ot/", "bash" + "_jobs", "py" + "env/versions/3",
        "co-authored" + "-by", "clau" + "de", "anthro" + "pic", "chat" + "gpt", "co" + "pilot",
        "as an ai" + " ",
    )),
    re.IGNORECASE,
)  # fmt: skip
"""Hosts of registries, paths of a machine, makers."""
PRODUCT = re.compile("CLAU" + r"DE\.md\b|Clau" + r"de Code\b|\.clau" + r"de\b|--clau" + r"de\b")
"""Files and the name of a program that the command line sets up for its users."""


@dataclass(frozen=True, slots=True)
class Ban:
    """A thing that is looked for in every file of some parts.

    Attributes:
        find: ``line what`` for each breach in a file.
        parts: Files and folders in which it is looked for.
        doors: The files that do it, each with its reason. A new line needs a reason, too.
        planted: Code in which a breach must be found.
    """

    find: Callable[[Module], list[str]]
    planted: tuple[str, ...]
    parts: tuple[str, ...] = PARTS
    doors: Mapping[str, str] = field(default_factory=dict)


BANS: dict[str, Ban] = {
    "importing the plugin imports no heavy package": Ban(
        heavy_imports,
        (
            "try:\n    import jieba\nexcept ImportError:\n    jieba = None",
            "class A:\n    import apscheduler.schedulers",
            "if TYPE_CHECKING:\n    pass\nelse:\n    import numpy",
        ),
    ),
    "models, rules and formats have no clock, disk, log or await": Ban(
        impurities,
        (
            "from pathlib import PurePath, Path",
            "import datetime as dt\ndef f():\n    return dt.date.today()",
            "def f(p):\n    return open(p)",
            "async def f():\n    pass",
            "def f():\n    global x\n    x = 1",
            "def f():\n    import random",
        ),
        doors={"llm_memory/text/lazy_pattern.py": "patterns that are data, read once"},
        parts=pure_places(),
    ),
    "a scope is made by Scope.parse": Ban(
        made_scopes,
        (
            "from ..models.scope import Scope as S\nS('x')",
            "from ..models.scope import Place\nobject.__new__(Place)",
            "from ..models.scope import Scope\nmake = Scope",
            "from ..models.scope import Scope\nclass Mine(Scope):\n    pass",
        ),
        doors={"llm_memory/models/scope.py": "its own module"},
    ),
    "a name becomes a scope at the doors": Ban(
        parsed_scopes,
        ("from ..models.scope import Scope as S\nlist(map(S.parse, names))",),
        doors={
            "llm_memory/scopes/rules/scope_map.py": "the names that the owner's map states",
            "llm_memory/scopes/rules/scope_resolution.py": "those that a policy derives, and an"
            " admin's move, to a scope that there is",
            "llm_memory/migration/rules/legacy_records.py": "what a foreign record states",
            "llm_memory/vault/vault_tree.py": "a folder's name is its scope",
            "llm_memory/models/scope.py": "its own module",
        },
    ),
    "the shell has no opinion on scopes": Ban(
        opinions_on_scopes,
        (
            "from ..llm_memory.scopes.rules.scope_resolution import resolve as r",
            "from ..llm_memory.models import *",
            "import astrbot_plugin_scoped_memory.llm_memory.models.scope",
        ),
        parts=("main.py", "core", "tools"),
    ),
    "shared/, roles/, soul/ and the root's notes are written at the doors": Ban(
        writes_to_owners_places,
        (
            "from ..models.shelf import SHARED as S\nself._pages.write(S, 'x', b'y', None)",
            "append_and_verify(root / f'roles/{name}/MEMORY.md', make)",
            "(root / 'shared').joinpath('x').open(mode='r+b')",
            "os.open(root / 'roles', os.O_WRONLY | os.O_APPEND)",
            "mine.replace(root / 'roles' / 'x')",
        ),
        doors={
            "llm_memory/decisions/files.py": "an admin accepts: records, appended",
            "llm_memory/roles/role_notes.py": "the program that holds a role: its own folder",
            "llm_memory/soul/store.py": "what an admin applied, or a night, is put in force",
            "llm_memory/home/making.py": "a person runs init: files that are not there yet",
            "llm_memory/transfer/store_writer.py": "the owner restores: files not there yet",
            "llm_memory/transfer/store_zip.py": "copies of them, where a zip is unpacked",
            "llm_memory/vault/vault_tree.py": "makes the folder of a place, and never shared/",
        },
    ),
    "what a person reads at the command line stands in the catalogue": Ban(
        texts_in_code,
        ("say(f'没有 {x}')", "N = {1: ['没有']}"),
        parts=(
            "llm_memory/home", "llm_memory/cli", "llm_memory/mcp_server", "llm_memory/sharing",
            "llm_memory/__main__.py", "llm_memory/errors.py", "llm_memory/index/embedding/service",
            "llm_memory/migration/openclaw_store.py", "llm_memory/models/workflow.py",
            "llm_memory/storage/toml_file.py",
        ),
    ),
    "a line of the engine's log is a text of the catalogue": Ban(
        wrong_log_lines,
        ("logger.info('notes_read')", "logger.warning(f'{error}')", "logger.debug('读不了')"),
        parts=("llm_memory",),
    ),
    "a name of a module is given one value": Ban(
        twice_named, ("A = 1\nB = 2\nA = 1", "A: int = 1\nA, B = 1, 2")
    ),
    "no coroutine sleeps for others": Ban(
        cooperative_coroutines,
        ("async def f():\n    for x in cooperative(y): pass",),
        parts=("core", "llm_memory"),
    ),
    "what a hook catches is told somewhere": Ban(
        swallowed,
        (
            "try:\n    f()\nexcept Exception:\n    x = False",
            "try:\n    f()\nexcept Exception as error:\n    pass",
        ),
        parts=("main.py", "core", "tools"),
    ),
    "an engine is put together in one place": Ban(
        assemblies,
        ("parts = Parts(paths, settings)",),
        parts=(*PARTS, "harness", "benchmarks", "scripts", "tests"),
        doors={"llm_memory/composition/engine.py": "builds an engine of its parts"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BANS)
def test_only_the_doors_do_it(name: str) -> None:
    ban = BANS[name]
    breaches = {one.path: found for one in modules(*ban.parts) if (found := ban.find(one))}
    assert set(breaches) == set(ban.doors), breaches


@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for name, ban in BANS.items() for code in ban.planted]
)
def test_a_planted_breach_is_found(name: str, code: str) -> None:
    assert BANS[name].find(module(code))


def test_no_folder_of_rules_is_left_out() -> None:
    assert sum(part.endswith("/rules") for part in pure_places()) >= 12


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_of_the_log_is_left_that_nobody_asks_for(language: str) -> None:
    place = ROOT / "llm_memory" / "i18n" / language / "log.yaml"
    texts = yaml.safe_load(place.read_text(encoding="utf-8"))
    assert set(texts) == {"log"}
    asked = {
        call.args[0].value
        for found_in in modules("llm_memory")
        for level, call in log_calls(found_in)
        if level in SPOKEN and isinstance(call.args[0], ast.Constant)
    }
    for part in ("main.py", "core", "tools"):
        for path in files(part):  # one code is put together of two words
            asked.update(
                re.findall(r"[\"'](?:log\.)?([a-z_]+)[\"']", path.read_text(encoding="utf-8"))
            )
    assert set(texts["log"]) - asked == set()


@pytest.mark.parametrize("name", ["cli", "common", "home"])
def test_a_line_has_one_language(name: str) -> None:
    chinese = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
    for language in LANGUAGES:
        file = ROOT / "llm_memory" / "i18n" / language / f"{name}.yaml"
        for group, texts in yaml.safe_load(file.read_text("utf-8")).items():
            for code, text in texts.items():
                english = language == "en-US" or re.search(r" /($| )", text)
                assert not (chinese.search(text) and english), f"{language}: {group}.{code}"


def test_no_file_names_a_machine_a_registry_or_an_author() -> None:
    tracked = checkout.files(new=True)
    assert checkout.ROOT / "Makefile" in tracked
    found = [
        f"{path.relative_to(checkout.ROOT)}:{number}: {word[0]}"
        for path in tracked
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if (word := FORBIDDEN.search(PRODUCT.sub("", line)))
    ]
    assert found == []
