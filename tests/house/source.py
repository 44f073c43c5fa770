"""The plugin's source as syntax trees: what tests of the structure look at."""

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("main.py", "core", "tools", "llm_memory")


@dataclass(frozen=True, slots=True)
class Module:
    """One file of ours; `path` is relative to the root, with forward slashes."""

    path: str
    tree: ast.Module


def module(code: str, path: str = "llm_memory/recall/rules/planted.py") -> Module:
    """A module that is not on disk, for tests of the tests."""
    return Module(path, ast.parse(code))


def modules(*parts: str) -> list[Module]:
    """Every module under the given files and folders, which must exist and not be empty."""
    found = [module_at(path) for part in parts for path in files(part)]
    assert found, f"nothing to look at under {parts}"
    return found


def requirements(text: str | None = None) -> list[Requirement]:
    """What a requirements.txt asks for, ours if none is given."""
    whole = (ROOT / "requirements.txt").read_text(encoding="utf-8") if text is None else text
    lines = (line.split("#", 1)[0].strip() for line in whole.splitlines())
    return [Requirement(line) for line in lines if line]


def metadata() -> dict[str, object]:
    """What metadata.yaml states."""
    loaded = yaml.safe_load((ROOT / "metadata.yaml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def script(name: str) -> ModuleType:
    """A script of ours as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def files(part: str) -> list[Path]:
    """The Python files of one part, sorted; a missing part is an error, not an empty list."""
    place = ROOT / part
    assert place.exists(), f"{part} does not exist"
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


@cache
def module_at(path: Path) -> Module:
    """The parsed file, for reading only: it is parsed once."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return Module(path.relative_to(ROOT).as_posix(), tree)


@dataclass(frozen=True, slots=True)
class Import:
    """`import a.b as c` is ("a.b", "", "c"); `from ..a import b` is ("..a", "b", "b")."""

    source: str
    name: str
    bound: str
    line: int


def imports(node: ast.AST) -> Iterator[Import]:
    """Every import anywhere under `node`."""
    for child in ast.walk(node):
        yield from imports_here(child)


def imports_here(node: ast.AST) -> Iterator[Import]:
    """What this one statement imports, if it is an import."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, "", alias.asname or alias.name.split(".")[0], node.lineno)
    elif isinstance(node, ast.ImportFrom):
        source = "." * node.level + (node.module or "")
        for alias in node.names:
            yield Import(source, alias.name, alias.asname or alias.name, node.lineno)


def module_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported, those only for type checkers left out.

    Bodies of classes, `if`, `try`, `with` and loops run; bodies of functions do not.
    """
    for statement in body:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            if name == "body" and isinstance(statement, ast.If) and _is_typing(statement.test):
                continue
            yield from module_level(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from module_level(handler.body)
        for case in getattr(statement, "cases", []):
            yield from module_level(case.body)


def _is_typing(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
