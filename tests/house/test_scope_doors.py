"""A scope is made by `Scope.parse` only, and only at the doors named here."""

import ast
from collections.abc import Iterator

import pytest

from astrbot_plugin_scoped_memory.tests.house.source import (
    PARTS,
    Module,
    imports,
    module,
    modules,
)

MAKER = "llm_memory/models/scope.py"

# The doors, as modules. A new line here needs a reason that DESIGN gives.
DOORS = {
    "llm_memory/scopes/rules/scope_map.py": "resolve: the names that the owner's map states",
    "llm_memory/scopes/rules/scope_resolution.py": "resolve: the names that a policy derives",
    "llm_memory/scopes/rules/move_target.py": "an admin's move: a scope that there is, by its name",
    "llm_memory/migration/rules/legacy_records.py": "adoption: what a foreign record states",
    "llm_memory/vault/vault_tree.py": "the vault: a folder's name is its scope",
    "llm_memory/index/vector/messages.py": "no door: the scopes of a filter as they cross a pipe",
}

# What core/ and tools/ would need to have an opinion of their own on scopes.
ENGINE_ONLY = frozenset({"PUBLIC", "Scope", "ScopeFilter", "resolve", "scope_where"})
ENGINE_MODULES = frozenset({"scope", "scope_resolution"})


def scope_names(subject: Module) -> set[str]:
    """The names that the class `Scope` has in this module."""
    return {found.bound for found in imports(subject.tree) if found.name == "Scope"} | {"Scope"}


def makes(subject: Module) -> list[str]:
    """`path:line what` for each way past `Scope.parse` to a scope."""
    names = scope_names(subject)
    return [
        f"{subject.path}:{getattr(node, 'lineno', 0)} {what}"
        for node in ast.walk(subject.tree)
        for what in (*_calls(node, names), *_disguises(node, names))
    ]


def _calls(node: ast.AST, names: set[str]) -> Iterator[str]:
    if not isinstance(node, ast.Call):
        return
    called = ast.unparse(node.func)
    handed_on = any(_is_scope(argument, names) for argument in node.args)
    if _is_scope(node.func, names):
        yield f"calls {called}"
    elif handed_on and (called.endswith("__new__") or called in ("getattr", "type", "cast")):
        yield f"goes round Scope.parse: {called}"


def _disguises(node: ast.AST, names: set[str]) -> Iterator[str]:
    match node:
        case ast.Attribute(value=value, attr=attr) if _is_scope(value, names) and attr != "parse":
            yield f"uses Scope.{attr}"
        case ast.Assign(value=value) | ast.AnnAssign(value=value) if _is_scope(value, names):
            yield "gives Scope another name"
        case ast.ClassDef(bases=bases) if any(_is_scope(base, names) for base in bases):
            yield "derives from Scope"
        case ast.Attribute(attr="_name", value=value) if ast.unparse(value) != "self":
            yield "touches a scope's inside"


def parses(subject: Module) -> list[str]:
    """`path:line` for each mention of `Scope.parse`, called or handed on."""
    names = scope_names(subject)
    return [
        f"{subject.path}:{node.lineno}"
        for node in ast.walk(subject.tree)
        if isinstance(node, ast.Attribute) and node.attr == "parse" and _is_scope(node.value, names)
    ]


def opinions(subject: Module) -> list[str]:
    """`path:line` for each import by which a module outside the engine could derive a scope."""
    return [
        f"{subject.path}:{found.line} {found.source} {found.name}"
        for found in imports(subject.tree)
        if "llm_memory" in found.source.split(".")
        and (found.name in ENGINE_ONLY | ENGINE_MODULES or not found.name or found.name == "*")
    ]


def _is_scope(node: ast.expr | None, names: set[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Attribute(attr=attr):
            return attr == "Scope"
    return False


def test_only_its_own_module_makes_a_scope() -> None:
    others = [subject for subject in modules(*PARTS) if subject.path != MAKER]
    assert [line for subject in others for line in makes(subject)] == []


def test_scope_parse_is_used_at_the_doors_only() -> None:
    users = {
        subject.path for subject in modules(*PARTS) if subject.path != MAKER and parses(subject)
    }
    assert users == set(DOORS)


def test_the_shell_has_no_opinion_on_scopes() -> None:
    shell = modules("main.py", "core", "tools")
    assert [line for subject in shell for line in opinions(subject)] == []


@pytest.mark.parametrize(
    "code",
    [
        "from ..models.scope import Scope\nScope()",
        "from ..models.scope import Scope as S\nS('x')",
        "from ..models import scope\nscope.Scope()",
        "from ..models.scope import Scope\nobject.__new__(Scope)",
        "from ..models.scope import Scope\nScope.__new__(Scope)",
        "from ..models.scope import Scope\nmake = Scope",
        "from ..models.scope import Scope\ngetattr(Scope, 'parse')('x')",
        "from ..models.scope import Scope\nclass Mine(Scope):\n    pass",
        "from typing import cast\nfrom ..models.scope import Scope\ncast(Scope, 'x')",
        "def f(scope):\n    scope._name = 'x'",
    ],
)
def test_a_planted_way_round_parse_is_found(code: str) -> None:
    assert makes(module(code))


@pytest.mark.parametrize(
    "code",
    [
        "from ..models.scope import Scope\nScope.parse('x')",
        "from ..models.scope import Scope as S\nlist(map(S.parse, names))",
        "from ..models import scope\nscope.Scope.parse('x')",
    ],
)
def test_a_planted_use_of_parse_is_found(code: str) -> None:
    assert parses(module(code))


@pytest.mark.parametrize(
    "code",
    [
        "from ..llm_memory import Scope",
        "from ..llm_memory.models.scope import ScopeFilter",
        "from ..llm_memory.scopes.rules.scope_resolution import resolve as r",
        "from ..llm_memory.scopes.rules import scope_resolution",
        "from ..llm_memory.models import *",
        "def late():\n    from ..llm_memory.models import scope",
        "import astrbot_plugin_scoped_memory.llm_memory.models.scope",
    ],
)
def test_a_planted_opinion_is_found(code: str) -> None:
    assert opinions(module(code, "core/planted.py"))


def test_a_conversation_id_is_no_opinion() -> None:
    code = "from ..llm_memory.models.conversation import ConversationId\nConversationId"
    assert opinions(module(code, "core/planted.py")) == []
