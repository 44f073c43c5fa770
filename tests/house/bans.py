"""What the house forbids: each function finds the breaches of one ban in a file."""

from __future__ import annotations

import ast
import re
import string
import tomllib
from collections.abc import Iterator

from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, catalogue
from astrbot_plugin_scoped_memory.tests.house.source import (
    ROOT,
    Import,
    Module,
    imports,
    imports_here,
    module_level,
)

HEAVY = {
    "apscheduler", "chromadb", "jieba", "numpy", "onnxruntime",
    "sentence_transformers", "tokenizers", "torch", "transformers", "watchfiles",
}  # fmt: skip


def heavy_imports(subject: Module) -> list[str]:
    """Heavy packages that importing the module would import."""
    return [
        f"{found.line} {found.source}"
        for statement in module_level(subject.tree.body)
        for found in imports_here(statement)
        if found.source.split(".")[0] in HEAVY
    ]


def pure_places() -> tuple[str, ...]:
    """The folders and files that the contract `rules` of the import linter names."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (sources,) = (one["source_modules"] for one in linter["contracts"] if one["id"] == "rules")
    places: list[str] = []
    for name in sources:
        path = name.removeprefix("astrbot_plugin_scoped_memory.").replace(".", "/")
        found = [*ROOT.glob(path), *ROOT.glob(f"{path}.py")]
        assert found, name
        places += sorted(one.relative_to(ROOT).as_posix() for one in found)
    return tuple(places)


WORLD = {
    "asyncio", "concurrent", "fcntl", "fileinput", "glob", "http", "io", "logging", "loguru",
    "mmap", "msvcrt", "multiprocessing", "os", "queue", "random", "secrets", "select", "selectors",
    "shelve", "shutil", "signal", "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading",
    "time", "urllib", "uuid", "warnings",
}  # fmt: skip
"""A pure function has no use for these: they wait, look at the world, or change it."""
PURE_PATHS = {"PurePath", "PurePosixPath", "PureWindowsPath"}
CLOCKS = {"now", "today", "utcnow"}
BUILTINS = {"open", "print", "input", "exec", "eval", "__import__"}


def impurities(subject: Module) -> list[str]:
    """Each way in which the module is not pure."""
    return [
        f"{getattr(node, 'lineno', 0)} {what}"
        for node in ast.walk(subject.tree)
        for what in _impurities(node)
    ]


def _impurities(node: ast.AST) -> Iterator[str]:
    for found in imports_here(node):
        if _reaches_out(found):
            yield f"imports {found.source} {found.name}".rstrip()
    match node:
        case ast.Attribute(attr=attr) if attr in CLOCKS:
            yield f"asks a clock: {ast.unparse(node)}"
        case ast.Call(func=ast.Name(id=name)) if name in BUILTINS:
            yield f"calls {name}"
        case ast.Global():
            yield "changes a global"
        case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
            yield "waits"


def _reaches_out(found: Import) -> bool:
    if found.source == "pathlib":
        return found.name not in PURE_PATHS
    return found.source.split(".")[0] in WORLD


PLACE = {"Place", "Scope"}


def _scope_names(subject: Module) -> set[str]:
    """The names that the class `Place`, or `Scope`, has in this module."""
    return {found.bound for found in imports(subject.tree) if found.name in PLACE} | PLACE


def _is_scope(node: ast.expr | None, names: set[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Attribute(attr=attr):
            return attr in PLACE
    return False


def made_scopes(subject: Module) -> list[str]:
    """Each way past `Scope.parse` and the makers of shelves to a place."""
    names = _scope_names(subject)
    return [
        f"{getattr(node, 'lineno', 0)} {what}"
        for node in ast.walk(subject.tree)
        for what in _made_scopes(node, names)
    ]


def _made_scopes(node: ast.AST, names: set[str]) -> Iterator[str]:
    match node:
        case ast.Call(func=called) if _is_scope(called, names):
            yield "calls Place"
        case ast.Call(func=called, args=given) if any(_is_scope(one, names) for one in given):
            if ast.unparse(called).endswith(("__new__", "getattr", "type", "cast")):
                yield f"goes round Scope.parse: {ast.unparse(called)}"
        case ast.Assign(value=value) | ast.AnnAssign(value=value) if _is_scope(value, names):
            yield "gives Place another name"
        case ast.ClassDef(bases=bases) if any(_is_scope(base, names) for base in bases):
            yield "derives from Place"


def parsed_scopes(subject: Module) -> list[str]:
    """Each mention of `Scope.parse`, called or handed on."""
    names = _scope_names(subject)
    return [
        f"{node.lineno} Scope.parse"
        for node in ast.walk(subject.tree)
        if isinstance(node, ast.Attribute) and node.attr == "parse" and _is_scope(node.value, names)
    ]


ENGINE_ONLY = {
    "PUBLIC", "Place", "Scope", "ScopeFilter", "resolve", "scope_where", "scope",
    "scope_resolution",
}  # fmt: skip
"""What `core/` and `tools/` would need to have an opinion of their own on scopes."""


def opinions_on_scopes(subject: Module) -> list[str]:
    """Each import by which a module outside the engine could derive a scope."""
    return [
        f"{found.line} {found.source} {found.name}"
        for found in imports(subject.tree)
        if "llm_memory" in found.source.split(".")
        and (found.name in ENGINE_ONLY or found.name in ("", "*"))
    ]


OWNERS_PLACES = {
    "SHARED", "SHARED_FOLDER", "ROOT_NOTES", "ROLES_FOLDER", "CARRIED", "SOUL_FOLDER", "SOUL_PAGE",
    "SOUL_CHAIN", "of_role", "of_folder", "folder_of", "role_folder", "RecordFile", "CONSTITUTION",
    "shared_templates", "role_template",
}  # fmt: skip
OWNERS_FOLDERS = ("shared", "roles", "soul")
WRITERS = {
    "replace_durably", "append_durably", "append_and_verify", "write_beside", "put_in_place",
    "planned", "move", "write_bytes", "write_text", "rename", "renames", "link", "hardlink_to",
    "symlink", "symlink_to", "unlink", "rmtree", "mkdir", "makedirs", "make_folder", "touch",
    "truncate", "copy", "copyfile", "copytree", "path_in", "keep", "utime",
}  # fmt: skip


def writes_to_owners_places(subject: Module) -> list[str]:
    """The calls that write, move or remove, of a module that names such a place. What another
    module hands a place is not seen: the doors that do that are tried at run time."""
    if not any(_names_owners_place(node) for node in ast.walk(subject.tree)):
        return []
    calls = (node for node in ast.walk(subject.tree) if isinstance(node, ast.Call))
    return [f"{call.lineno} {ast.unparse(call.func)}" for call in calls if _writes(call)]


def _names_owners_place(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return name in OWNERS_PLACES
        case ast.Constant(value=str(text)):
            return text in OWNERS_FOLDERS or text.startswith(
                tuple(f"{folder}/" for folder in OWNERS_FOLDERS)
            )
    return False


def _writes(call: ast.Call) -> bool:
    name = ast.unparse(call.func).rpartition(".")[2]
    if name == "open":
        modes = [*call.args[-1:], *(one.value for one in call.keywords if one.arg == "mode")]
        return any(map(_opens_to_write, modes))
    if name == "replace":  # of a path; of a text it takes two, of a dataclass fields by name
        path = isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not call.keywords
        return path or ast.unparse(call.func) == "os.replace"
    if name == "write":  # of pages, which take a place
        return "pages" in ast.unparse(call.func)
    return name in WRITERS


def _opens_to_write(mode: ast.expr) -> bool:
    if isinstance(mode, ast.Constant):
        return isinstance(mode.value, str) and bool(re.fullmatch(r"\w?[wax+]\w?\+?", mode.value))
    return any(flag in ast.unparse(mode) for flag in ("O_WR", "O_RDWR"))


CHINESE = re.compile("[\u4e00-\u9fff]{2}")
"""A text, and neither a range of characters nor one that somebody types."""


def texts_in_code(subject: Module) -> list[str]:
    """Chinese literals outside the catalogue; what is logged is looked at by `wrong_log_lines`."""
    return [f"{line} {text}" for line, text in _texts_in(subject.tree)]


def _texts_in(node: ast.AST) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"))):
            return
        case ast.Constant(value=str(text)) if CHINESE.search(text):
            yield node.lineno, text
    for child in ast.iter_child_nodes(node):
        yield from _texts_in(child)


SPOKEN = {"info", "warning", "error"}
"""Levels whose lines an owner reads: texts of the catalogue. DEBUG is plain English."""


def log_calls(subject: Module) -> Iterator[tuple[str, ast.Call]]:
    """The level and the call of each line that is logged."""
    for node in ast.walk(subject.tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"), attr=level)):
                if level in SPOKEN | {"debug"}:
                    yield level, node


def wrong_log_lines(subject: Module) -> list[str]:
    """What is wrong with the lines of a file, in each language."""
    return [
        f"{call.lineno} {what}"
        for level, call in log_calls(subject)
        for what in _wrong_log_line(level, call)
    ]


def _wrong_log_line(level: str, call: ast.Call) -> Iterator[str]:
    text = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if not isinstance(text, str):
        yield "no literal"
    elif level == "debug":
        if CHINESE.search(text):
            yield f"{text}: not English"
    else:
        given = {keyword.arg for keyword in call.keywords}
        for language in LANGUAGES:
            template = catalogue(language).get(f"log.{text}")
            if template is None:
                yield f"{text}: no text in {language}"
            elif len(call.args) > 1 or _fields(template) != given:
                yield f"{text}: {language} wants {sorted(_fields(template))}"


def _fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def assemblies(subject: Module) -> list[str]:
    """Calls that put an engine together. Tests name what they replace: a second assembly would
    itself be what is tested."""
    return [
        f"{node.lineno} {one.id}"
        for node in ast.walk(subject.tree)
        if isinstance(node, ast.Call)
        for one in (node.func, *node.args)
        if isinstance(one, ast.Name) and one.id == "Parts"
    ]


def twice_named(subject: Module) -> list[str]:
    """A second definition changes nothing, or the meaning of what stands between them."""
    targets: list[ast.expr] = []
    for node in subject.tree.body:
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign) and node.value:
            targets.append(node.target)
    names = [one for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
    again = (one for at, one in enumerate(names) if one.id in {n.id for n in names[:at]})
    return [f"{one.lineno} {one.id}" for one in again]


def cooperative_coroutines(subject: Module) -> list[str]:
    """Coroutines that themselves go through something cooperatively, and so would sleep."""
    return [
        f"{call.lineno} in {node.name}"
        for node in ast.walk(subject.tree)
        if isinstance(node, ast.AsyncFunctionDef)
        for call in _of_itself(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "cooperative"
    ]


def _of_itself(node: ast.AST) -> Iterator[ast.AST]:
    """What a coroutine does itself: what it defines goes into a thread."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child
            yield from _of_itself(child)


def swallowed(subject: Module) -> list[str]:
    """Whatever was raised, caught where neither the log nor a value nor a raise tells of it."""
    return [
        f"{handler.lineno} except"
        for handler in ast.walk(subject.tree)
        if isinstance(handler, ast.ExceptHandler)
        and isinstance(handler.type, ast.Name)
        and handler.type.id in {"Exception", "BaseException"}
        and not any(_tells(node, handler.name) for node in ast.walk(handler))
    ]


def _tells(node: ast.AST, name: str | None) -> bool:
    logs = isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "logger"
    names = isinstance(node, ast.Name) and node.id == name
    return logs or names or isinstance(node, ast.Raise)
