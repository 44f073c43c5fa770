"""Forks an AstrBot for each line of its input: of a start, two thirds are the imports of libraries.

A program, started by harness/bot.py for runs with many starts. It has imported what AstrBot asks of
others, and nothing of AstrBot, which looks at its folder and environment while it is imported. It
has compiled what the plugin compiles at its import: regular expressions, which Python keeps by
their text, and the methods of dataclasses. A line is a JSON object with the bot's `root`, `log` and
`environment`; the answer is its process id.
"""

import contextlib
import ctypes
import dataclasses
import functools
import gc
import importlib
import importlib.metadata
import json
import os
import re
import runpy
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MORE = ("google.genai", "sqlalchemy.ext.asyncio")
"""Modules of packages whose first import brings little."""
FOR_SOME = frozenset(
    ("lark-oapi", "markitdown-no-magika", "py-cord", "python-telegram-bot", "slack-sdk")
)
"""What AstrBot asks for and imports for those alone who use it: seconds each."""
PATTERNS = 10_000
"""More than the plugin and AstrBot compile. Python forgets the first of 512."""
SELDOM = 50_000
"""New objects before a collection: after an import there is little garbage and much to look at."""


def libraries() -> Iterator[str]:
    """Yields the modules of what AstrBot requires, as far as they are named like their packages.
    None of them is hidden from a bot by a test."""
    for requirement in importlib.metadata.requires("astrbot") or ():
        name = re.match(r"[\w.-]+", requirement)
        if name and "extra ==" not in requirement and name[0].lower() not in FOR_SOME:
            yield name[0].lower().replace("-", "_")
    yield from MORE


def keep_compiled_methods() -> None:
    """Has the methods of dataclasses compiled once for each text: three quarters of what such a
    class takes."""
    compiled = functools.cache(functools.partial(compile, filename="<string>", mode="exec"))

    def run(text: str, *spaces: Any) -> None:
        exec(compiled(text), *spaces)  # noqa: S102  (as dataclasses does it)

    vars(dataclasses)["exec"] = run


def check_draft_once() -> None:
    """Checks the draft that AstrBot's tools are written in, and has it taken for checked from then
    on: ``jsonschema.validate`` checks it against itself, here for each tool at each request."""
    draft = importlib.import_module("jsonschema").Draft202012Validator
    check = draft.check_schema
    check(draft.META_SCHEMA)

    def checked(schema: object, *more: Any, **named: Any) -> None:
        if schema is not draft.META_SCHEMA:
            check(schema, *more, **named)

    draft.check_schema = checked


def send_requests_unchanged() -> None:
    """Keeps OpenAI's SDK from going through each tool of each request in search of names that the
    API spells otherwise, for half of what a turn takes. In chat completions there are none."""
    completions = importlib.import_module("openai.resources.chat.completions.completions")

    async def unchanged(data: object, _: object) -> object:
        return data

    vars(completions)["async_maybe_transform"] = unchanged


def look_at_signatures_once() -> None:
    """Has FastAPI keep what it reads of a function: AstrBot's panel has hundreds of routes, whose
    dependencies are the same few."""
    dependencies = importlib.import_module("fastapi.dependencies.utils")
    vars(dependencies)["get_typed_signature"] = functools.cache(dependencies.get_typed_signature)


def build_fields_at_first_use() -> None:
    """Has FastAPI build what checks a parameter when a request comes with it: a test meets few of
    the panel's routes."""
    field = importlib.import_module("fastapi._compat.v2").ModelField
    build = field.__post_init__

    def missing(self: object, name: str) -> object:
        if name != "_type_adapter":
            raise AttributeError(name)
        build(self)
        return vars(self)[name]

    field.__post_init__, field.__getattr__ = (lambda _: None), missing


def parse_metadata_once() -> None:
    """Keeps what stands in an installed package's metadata, by its folder: AstrBot looks through
    all of them before it loads a plugin."""
    package: Any = importlib.metadata.PathDistribution
    parse = package.metadata.fget
    of_folder = functools.cache(lambda folder: parse(package(folder)))
    package.metadata = property(lambda self: of_folder(self._path))


def compile_code() -> None:
    """Compiles the plugin's, and forgets its modules: a bot imports its own."""
    scripts = str(Path(__file__).resolve().parent.parent / "scripts")
    sys.path.insert(0, scripts)
    checkout = importlib.import_module("checkout")
    sys.path.remove(scripts)
    plugin = checkout.register().__name__
    importlib.import_module(f"{plugin}.llm_memory.api")
    importlib.import_module(f"{plugin}.llm_memory.text.lazy_pattern").compile_all()
    for name in tuple(sys.modules):
        if name.partition(".")[0] in ("checkout", plugin):
            del sys.modules[name]


def serve() -> bool:
    """Forks until the input ends; returns True in each child, which is to become a bot."""
    for line in sys.stdin:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            _become(**json.loads(line))
            return True
    return False


def _become(root: str, log: str, environment: dict[str, str]) -> None:
    """What the kernel and Python do for `cd root; python -m astrbot.cli run >> log` before it
    runs, in a session of its own."""
    os.setsid()
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    print(os.getpid(), flush=True)
    os.chdir(root)
    os.environ.clear()
    os.environ.update(environment)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for here, there in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(here, there)
    os.close(output)
    os.close(nothing)
    folders = [folder for folder in environment.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:1] = [root, *folders]
    for folder in folders:
        custom = Path(folder) / "sitecustomize.py"
        if custom.is_file():
            runpy.run_path(str(custom))
    sys.argv[:] = ["astrbot", "run"]


if __name__ == "__main__":
    gc.set_threshold(SELDOM)
    vars(re)["_MAXCACHE"] = PATTERNS
    for library in libraries():
        with contextlib.suppress(ImportError), warnings.catch_warnings(action="ignore"):
            importlib.import_module(library)
    with contextlib.suppress(ImportError):
        # At its first use it looks through the metadata of everything that is installed.
        importlib.import_module("opentelemetry.context").get_current()
    keep_compiled_methods()
    for spare in (
        check_draft_once,
        send_requests_unchanged,
        look_at_signatures_once,
        build_fields_at_first_use,
        parse_metadata_once,
    ):
        # Another AstrBot may do without the library, or with another release of it.
        with contextlib.suppress(ImportError, AttributeError):
            spare()
    compile_code()
    gc.freeze()
    if serve():
        runpy.run_module("astrbot.cli", run_name="__main__", alter_sys=True)
