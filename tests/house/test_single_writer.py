"""`shared/`, `roles/`, `soul/` and what lies in the memory root itself are written at the doors
named here, and by people's editors.

No other module names such a place and calls what writes. What is handed a `Place` by another module
is told of scopes alone; `tests/mcp_server/test_foreign_places.py` tries that at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from astrbot_plugin_scoped_memory.tests.house.source import PARTS, Module, module, modules

DOORS = {
    "llm_memory/decisions/shared_files.py": "an admin accepts: records, appended",
    "llm_memory/roles/role_notes.py": "the program that holds a role: its own folder",
    "llm_memory/soul/soul_files.py": "what passed evaluation is put in force: SOUL.md and soul/",
    "llm_memory/home/making.py": "a person runs init: files that are not there yet",
    "llm_memory/transfer/store_writer.py": "the owner restores: files that are not there yet",
    "llm_memory/consolidation/backup_files.py": "no door: copies of them, in a backup's stage",
    "llm_memory/vault/vault_tree.py": "no door: makes the folder of a place, and never shared/",
}
"""Who writes there, and why. A new line needs a reason of a person's."""

PLACES = frozenset(
    {
        "SHARED",
        "SHARED_FOLDER",
        "ROOT_NOTES",
        "ROLES_FOLDER",
        "CARRIED",
        "SOUL_FOLDER",
        "SOUL_PAGE",
        "SOUL_CHAIN",
        "Shelf",
        "folder_of",
        "role_folder",
        "RecordFile",
        "CONSTITUTION",
        "shared_templates",
        "role_template",
    }
)
FOLDERS = ("shared", "roles", "soul")
WRITERS = frozenset(
    {
        "replace_durably",
        "append_durably",
        "append_and_verify",
        "write_beside",
        "put_in_place",
        "planned",
        "move",
        "write_bytes",
        "write_text",
        "rename",
        "renames",
        "link",
        "hardlink_to",
        "symlink",
        "symlink_to",
        "unlink",
        "rmtree",
        "mkdir",
        "makedirs",
        "make_folder",
        "touch",
        "truncate",
        "copy",
        "copyfile",
        "copytree",
        "path_in",
        "keep",
        "utime",
    }
)
MODES = frozenset("wax+")


def named(subject: Module) -> list[str]:
    """What names such a place, or builds a path of one."""
    return sorted({what for node in ast.walk(subject.tree) for what in _names(node)})


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            if name in PLACES:
                yield name
        case ast.Constant(value=str(text)):
            if text in FOLDERS or text.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
                yield repr(text)


def written(subject: Module) -> list[str]:
    """`line call` for each call that writes, moves or removes."""
    calls = (node for node in ast.walk(subject.tree) if isinstance(node, ast.Call))
    return [f"{call.lineno} {ast.unparse(call.func)}" for call in calls if _writes(call)]


def _writes(call: ast.Call) -> bool:
    name = ast.unparse(call.func).rpartition(".")[2]
    if name == "open":
        said = [*call.args[-1:], *(one.value for one in call.keywords if one.arg == "mode")]
        return any(map(_opens_to_write, said))
    if name == "replace":  # of a path; of a text it takes two, of a dataclass fields by name
        path = isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not call.keywords
        return path or ast.unparse(call.func) == "os.replace"
    if name == "write":  # of pages, which take a place
        return "pages" in ast.unparse(call.func)
    return name in WRITERS


def _opens_to_write(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and len(node.value) <= 3 and bool(MODES & {*node.value})
    return any(flag in ast.unparse(node) for flag in ("O_WR", "O_RDWR"))


def found(subject: Module) -> list[str]:
    """The calls that write, of a module that names such a place."""
    return written(subject) if named(subject) else []


def test_only_the_doors_name_such_a_place_and_write() -> None:
    writers = {one.path: found(one) for one in modules(*PARTS) if found(one)}
    assert set(writers) == set(DOORS), writers


@pytest.mark.parametrize(
    "code",
    [
        "from ..models.shelf import SHARED_FOLDER\n(root / SHARED_FOLDER / 'x').write_text('y')",
        "from ..models import shelf\n(root / shelf.ROLES_FOLDER).mkdir()",
        "from ..models.shelf import SHARED as S\nself._pages.write(S, 'x', b'y', None)",
        "replace_durably(root / 'shared' / 'DECISIONS.md', b'x')",
        "append_and_verify(root / f'roles/{name}/MEMORY.md', make)",
        "open(root / 'shared/DECISIONS.md', 'a')",
        "(root / 'shared').joinpath('x').open(mode='r+b')",
        "os.open(root / 'roles', os.O_WRONLY | os.O_APPEND)",
        "os.replace(mine, root / 'shared' / 'x')",
        "mine.replace(root / 'roles' / 'x')",
        "os.link(root / 'shared' / 'x', mine)",
        "(mine).symlink_to(root / 'shared')",
        "shutil.rmtree(root / 'roles')",
        "def late():\n    from .templates import CONSTITUTION\n    planned(top, CONSTITUTION, f)",
        "replace_durably(root / 'soul' / name / 'chain.jsonl', b'x')",
        "put_in_place(made, root / 'roles' / name / SOUL_PAGE)",
        "place = Shelf.of_role('qa')\npages.keep(place, 'MEMORY.md', raw, most=3)",
    ],
)
def test_a_planted_write_is_found(code: str) -> None:
    assert found(module(code))


@pytest.mark.parametrize(
    "code",
    [
        "from ..models.shelf import SHARED\nif SHARED in shelves:\n    text.replace('a', 'b')",
        "open(root / 'shared' / 'x', 'rb').read()",
        "os.open(root / 'shared', os.O_RDONLY)",
        "from dataclasses import replace\nreplace(chunk, place=SHARED)",
        "(root / 'scopes' / 'x').write_text('shared words')",
    ],
)
def test_reading_one_is_no_writing(code: str) -> None:
    assert not found(module(code))
