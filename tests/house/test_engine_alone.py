"""The engine runs without AstrBot, and importing any of it loads the standard library alone."""

import subprocess
import sys
from pathlib import Path

import checkout

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
        "service.cognitive_service",
        "service.parts",
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


def test_each_room_of_the_engine_imports_with_the_standard_library_alone() -> None:
    walk = (
        "import importlib, pkgutil; import llm_memory as house; "
        "names = [m.name for m in pkgutil.walk_packages(house.__path__, house.__name__ + '.')]; "
        "[importlib.import_module(name) for name in names if not name.endswith('__main__')]"
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


AT_WORK = """import asyncio, pathlib, llm_memory
from llm_memory.index.embedding.service.embedding_service import EmbeddingService
class Watch:
    def find_spec(self, name, *_):
        asyncio._get_running_loop() and print("loop:" + name.partition(".")[0])
async def work():
    sys.meta_path.insert(0, Watch())
    paths = llm_memory.EnginePaths.under(pathlib.Path({!r}))
    async with llm_memory.build_engine(paths, llm_memory.EngineSettings()):
        assert "numpy" in sys.modules
    asked = EmbeddingService("http://127.0.0.1:9", "m").embed(["x"])
    await asyncio.gather(asked, return_exceptions=True)
asyncio.run(work())"""


def test_a_thread_imports_what_would_hold_the_loop(tmp_path: Path) -> None:
    present = loaded("-I", statement=AT_WORK.format(str(tmp_path)))
    assert not {"loop:numpy", "loop:httpx", "loop:anyio"} & {*present}


COMMANDS = ("index", "trust m-1234", "serve", "search words", "edit m-1234 words", "status")


def test_reading_a_command_loads_neither_engine_nor_server() -> None:
    """An agent waits for ``serve``; what a command needs is loaded when it runs."""
    parse = (
        "from llm_memory.cli.parser import build_parser; "
        f"[build_parser().parse_args(line.split()) for line in {COMMANDS!r}]"
    )
    present = loaded("-I", statement=parse)
    assert "llm_memory.cli.parser" in present
    assert not {name.partition(".")[0] for name in present} & (HEAVY | {"mcp", "pydantic", "yaml"})
    assert not [name for name in present if name.startswith(ENGINE)]
