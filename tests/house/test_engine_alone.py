"""The engine runs without AstrBot, and importing it costs next to nothing."""

import subprocess
import sys

import checkout
import pytest

HEAVY = {
    "apscheduler",
    "chromadb",
    "jieba",
    "numpy",
    "onnxruntime",
    "pandas",
    "sentence_transformers",
    "tokenizers",
    "torch",
    "transformers",
}
ENGINE = tuple(
    f"llm_memory.{room}"
    for room in (
        "api",
        "catalogue",
        "composition.engine",
        "consolidation",
        "index",
        "migration",
        "recall",
        "reflection",
        "remember",
        "service",
        "sync",
        "vault.markdown_vault",
    )
)


def loaded(*flags: str, statement: str) -> list[str]:
    """What a fresh interpreter holds after `statement`, the checkout on its path."""
    code = f"import sys; sys.path.insert(0, {str(checkout.ROOT)!r}); {statement}; "
    code += "print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def top_level_modules(*flags: str, statement: str) -> set[str]:
    """The packages of these."""
    return {name.partition(".")[0] for name in loaded(*flags, statement=statement)}


def test_the_engine_imports_with_the_standard_library_alone() -> None:
    present = top_level_modules("-I", "-S", statement="import llm_memory.api")
    assert "llm_memory" in present
    assert present - {"llm_memory", "__main__"} <= set(sys.stdlib_module_names)


def test_importing_the_engine_loads_nothing_heavy() -> None:
    present = top_level_modules("-I", statement="import llm_memory.api")
    assert "llm_memory" in present
    assert not present & HEAVY


@pytest.mark.parametrize(
    "package",
    sorted(path.parent.name for path in (checkout.ROOT / "llm_memory").glob("*/__init__.py")),
)
def test_each_room_of_the_engine_imports_with_the_standard_library_alone(package: str) -> None:
    walk = (
        f"import importlib, pkgutil; import llm_memory.{package} as room; "
        "names = [m.name for m in pkgutil.walk_packages(room.__path__, room.__name__ + '.')]; "
        "[importlib.import_module(name) for name in names]"
    )
    present = top_level_modules("-I", "-S", statement=walk)
    assert present - {"llm_memory", "__main__"} <= set(sys.stdlib_module_names)


def test_a_hook_asks_an_owner_without_engine_or_server() -> None:
    """A person waits for it at each prompt."""
    present = loaded("-I", statement="import llm_memory.__main__, llm_memory.cli.hook")
    assert "llm_memory.cli.hook" in present
    slow = HEAVY | {"argparse", "asyncio", "loguru", "mcp", "pydantic"}
    assert not {name.partition(".")[0] for name in present} & slow
    assert not [name for name in present if name.startswith(ENGINE[1:])]


@pytest.mark.parametrize(
    "command",
    [
        "index",
        "trust m-1234",
        "serve",
        "search words",
        "list words",
        "forget m-1234",
        "edit m-1234 words",
        "undo",
        "status",
    ],
)
def test_reading_a_command_loads_neither_engine_nor_server(command: str) -> None:
    """An agent waits for ``serve``; what a command needs is loaded when it runs."""
    parse = (
        "from llm_memory.cli.parser import build_parser; "
        f"build_parser().parse_args({command.split()!r})"
    )
    present = loaded("-I", statement=parse)
    assert "llm_memory.cli.parser" in present
    assert not {name.partition(".")[0] for name in present} & (HEAVY | {"mcp", "pydantic", "yaml"})
    assert not [name for name in present if name.startswith(ENGINE)]
