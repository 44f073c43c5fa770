"""What the MCP server costs, next to an SDK server with one tool and to the engine in process.

    python benchmarks/mcp_server.py [--rounds 5] [--memories 10000] [--queries 100]
        [--python PATH] [--embedding lexical] [--only start,search,memory,takeover,hook]
        [--json FILE]

- ``start``: seconds from the spawn of ``serve`` until ``initialize`` is answered, as the owner of
  an empty home and as a follower of another one, beside a bare server's.
- ``search``: p95 of ``memory_search`` over stdio, at the owner and at a follower, beside the p95 of
  the engine's own recall of the same questions, in a process that has a copy of the store; and the
  CPU time of a search in all processes of ours, which a busy machine changes least.
- ``memory``: resident memory of a follower and of a bare server after twenty calls each.
- ``takeover``: seconds from the ``kill -9`` of the owner until a follower has answered again.
- ``hook``: milliseconds of ``recall --hook`` from its spawn to its end, with an owner and alone,
  beside ``python -c pass`` in the same minute; ``silent`` is how many prompts got no answer.

Everything is measured by turns in each round, with the interpreter ``--python``, and the medians of
the rounds are given; of ``search`` the percentiles of all rounds, and the median of their ratios.
``noise`` is how long a loop that does nothing stood still, before.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts"))
sys.path.insert(0, str(HERE))

import checkout  # noqa: E402  (both folders are made visible by the lines above)

checkout.register()

from gauges import cpu_milliseconds, noise, percentile, spread  # noqa: E402
from mcp_client import Client  # noqa: E402
from samples import memories, questions, write_vault  # noqa: E402
from table import table  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC  # noqa: E402

PARTS = ("start", "search", "memory", "takeover", "hook")
BUDGET = 1_500
LIMIT = BUDGET // 40
"""What the tool asks the engine for, with that budget."""
CALLS = 20
PROMPTS = 50


@dataclass(frozen=True)
class Place:
    """A folder for everything, and how programs are started there."""

    root: Path
    python: str
    embedding: str

    def environ(self, home: Path) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SCOPED_MEMORY_", "PYTHON"))
        }
        return {
            **kept,
            "HOME": str(self.root),
            "PYTHONPATH": str(checkout.ROOT),
            "SCOPED_MEMORY_HOME": str(home),
            "SCOPED_MEMORY_EMBEDDING": self.embedding,
            "SCOPED_MEMORY_LANGUAGE": "en",
        }

    def serve(self, home: Path) -> Client:
        return Client([self.python, "-m", "llm_memory", "serve"], self.environ(home), self.root)

    def bare(self) -> Client:
        command = [self.python, str(HERE / "bare_mcp_server.py")]
        return Client(command, self.environ(self.root / "none"), self.root)

    @contextlib.contextmanager
    def owner(self, home: Path) -> Iterator[Client]:
        """A server that owns the home."""
        with self.serve(home) as client:
            client.initialize()
            client.call("memory_primer")
            deadline = time.monotonic() + 60
            while not (home / "state" / "endpoint.json").exists():
                if time.monotonic() > deadline:
                    raise TimeoutError("the owner starts no server")
                time.sleep(0.01)
            yield client


def start(place: Place, rounds: int) -> dict[str, Any]:
    took: dict[str, list[float]] = {"bare": [], "owner": [], "follower": []}
    shared = place.root / "shared"
    with place.owner(shared) as owner:
        owner.call("memory_search", query="anything")
        for number in range(rounds + 1):
            with place.bare() as bare:
                seconds = {"bare": bare.initialize()}
            with place.serve(place.root / f"empty-{number}") as alone:
                seconds["owner"] = alone.initialize()
            with place.serve(shared) as follower:
                seconds["follower"] = follower.initialize()
            if number:  # the first one fills the disk's cache
                for name, value in seconds.items():
                    took[name].append(value)
    return _beside(took, "bare", "seconds")


def search(place: Place, home: Path, rounds: int, wanted: int) -> dict[str, Any]:
    copy = place.root / "copy"
    shutil.copytree(home, copy)
    pool = iter(questions(2 * (rounds + 1) * wanted))
    spent: dict[str, list[float]] = {"engine": [], "owner": [], "follower": []}
    by_round: dict[str, list[float]] = {"owner/engine": [], "follower/engine": []}
    cpu = dict.fromkeys(spent, 0.0)
    with (
        place.owner(home) as owner,
        place.serve(home) as follower,
        _engine(place, copy) as engine,
    ):
        follower.initialize()
        for number in range(rounds + 1):
            now: dict[str, list[float]] = {name: [] for name in spent}
            for turn in range(wanted):
                # Each its own question: the owner answers both, and knows one by then.
                for name, client in (("owner", owner), ("follower", follower)):
                    text = next(pool)
                    steps = [
                        ("engine", engine.ask, (engine.pid,)),
                        (name, partial(_searched, client), {owner.pid, client.pid}),
                    ]
                    for who, ask, pids in steps if turn % 2 else steps[::-1]:
                        before = sum(map(cpu_milliseconds, pids))
                        now[who].append(ask(text))
                        if number:
                            cpu[who] += sum(map(cpu_milliseconds, pids)) - before
            if not number:  # dictionaries and patterns are loaded
                continue
            p95 = {name: percentile(values, 0.95) for name, values in now.items()}
            for name in by_round:
                by_round[name].append(p95[name.partition("/")[0]] / p95["engine"])
            for name, values in now.items():
                spent[name] += values
    whole = {name: spread(values) for name, values in spent.items()}
    each = {name: cpu[name] / len(values) for name, values in spent.items()}
    return {
        "ms": whole,
        "cpu_ms": {name: round(value, 2) for name, value in each.items()},
        "cpu_ratio": _ratios(each, "engine") if each["engine"] else {},
        "p50_ratio": _ratios({name: value["p50"] for name, value in whole.items()}, "engine"),
        "p95_ratio": _ratios({name: value["p95"] for name, value in whole.items()}, "engine"),
        "p95_ratio_of_rounds": {
            name: round(statistics.median(values), 3) for name, values in by_round.items()
        },
    }


def _searched(client: Client, text: str) -> float:
    return client.call("memory_search", query=text)[0]


@dataclass(frozen=True)
class Engine:
    """The engine's own recall, in a process of its own."""

    process: subprocess.Popen[str]

    @property
    def pid(self) -> int:
        return self.process.pid

    def ask(self, text: str) -> float:
        """Milliseconds of a recall."""
        assert self.process.stdin is not None  # noqa: S101
        assert self.process.stdout is not None  # noqa: S101
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


@contextlib.contextmanager
def _engine(place: Place, home: Path) -> Iterator[Engine]:
    command = [place.python, str(HERE / "recall_child.py"), str(home), place.embedding]
    with subprocess.Popen(  # noqa: S603
        [*command, str(LIMIT), str(BUDGET)],
        env=place.environ(home),
        cwd=place.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None  # noqa: S101
        if process.stdout.readline() != "ready\n":
            raise ConnectionError("the engine did not open")
        yield Engine(process)


def memory(place: Place, home: Path, rounds: int) -> dict[str, Any]:
    held: dict[str, list[float]] = {"bare": [], "follower": []}
    with place.owner(home):
        for _ in range(rounds):
            with place.bare() as bare:
                bare.initialize()
                for _ in range(CALLS):
                    bare.call("echo", text="How are you?")
                held["bare"].append(bare.megabytes() or 0.0)
            with place.serve(home) as follower:
                follower.initialize()
                for text in questions(CALLS):
                    follower.call("memory_search", query=text)
                held["follower"].append(follower.megabytes() or 0.0)
    return _beside(held, "bare", "megabytes")


def takeover(place: Place, home: Path, rounds: int) -> dict[str, Any]:
    took: dict[str, list[float]] = {"empty": [], "filled": []}
    for number in range(rounds):
        for name, where in (("empty", place.root / f"left-{number}"), ("filled", home)):
            with place.owner(where) as owner, place.serve(where) as follower:
                follower.initialize()
                follower.call("memory_search", query="anything")
                owner.kill()
                began = time.perf_counter()
                while not follower.call("memory_search", query="anything")[1]:
                    if time.perf_counter() - began > 60:
                        raise TimeoutError("nobody takes over")
                took[name].append(time.perf_counter() - began)
    return {
        "seconds": {name: round(statistics.median(values), 2) for name, values in took.items()},
        "largest": {name: round(max(values), 2) for name, values in took.items()},
    }


def hook(place: Place, home: Path) -> dict[str, Any]:
    took: dict[str, list[float]] = {name: [] for name in ("pass", "owner", "pass.alone", "alone")}
    silent = {"owner": 0, "alone": 0}
    pool = iter(questions(2 * PROMPTS + 2))
    for name, bare in (("owner", "pass"), ("alone", "pass.alone")):
        with place.owner(home) if name == "owner" else contextlib.nullcontext():
            for number in range(PROMPTS + 1):
                nothing, _ = _ran(place, home, ["-c", "pass"], "")
                prompt = json.dumps({"prompt": next(pool)})
                spent, told = _ran(place, home, ["-m", "llm_memory", "recall", "--hook"], prompt)
                if number:  # the first one fills the disk's cache
                    took[bare].append(nothing)
                    took[name].append(spent)
                    silent[name] += not told
    whole = {name: spread(values) for name, values in took.items()}
    return {
        "ms": whole,
        "p95_ratio": {
            "owner/pass": round(whole["owner"]["p95"] / whole["pass"]["p95"], 2),
            "alone/pass": round(whole["alone"]["p95"] / whole["pass.alone"]["p95"], 2),
        },
        "silent": silent,
    }


def _ran(place: Place, home: Path, arguments: list[str], text: str) -> tuple[float, bytes]:
    """Milliseconds of a program, and what it prints."""
    began = time.perf_counter()
    done = subprocess.run(  # noqa: S603
        [place.python, "-P", *arguments],
        input=text.encode(),
        env=place.environ(home),
        cwd=place.root,
        check=True,
        stdout=subprocess.PIPE,
    )
    return (time.perf_counter() - began) * 1e3, done.stdout


def _beside(values: dict[str, list[float]], base: str, unit: str) -> dict[str, Any]:
    """Medians, the largest, and how many times the median of ``base`` each median is."""
    middle = {name: statistics.median(some) for name, some in values.items()}
    return {
        unit: {name: round(value, 3) for name, value in middle.items()},
        "largest": {name: round(max(some), 3) for name, some in values.items()},
        "ratio": _ratios(middle, base),
    }


def _ratios(values: dict[str, float], base: str) -> dict[str, float]:
    others = {name: value for name, value in values.items() if name != base}
    return {f"{name}/{base}": round(value / values[base], 3) for name, value in others.items()}


def fill(place: Place, home: Path, count: int) -> None:
    """A home with so many memories in the scope that agents share, its index built."""
    write_vault(home / "memory", [replace(stored, scope=PUBLIC) for stored in memories(count)])
    command = [place.python, "-m", "llm_memory", "index"]
    subprocess.run(  # noqa: S603
        command,
        env=place.environ(home),
        cwd=place.root,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=100, help="questions in a round")
    parser.add_argument("--python", default=sys.executable, help="runs the servers")
    parser.add_argument("--embedding", default="lexical")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by commas")
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    return parser.parse_args()


def main() -> None:
    wanted = options()
    parts = wanted.only.split(",")
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    python = str(Path(wanted.python).absolute())  # a link of an environment stays one
    figures: dict[str, Any] = {"noise": noise(), **_about(python)}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Place(Path(folder), python, wanted.embedding)
        home = place.root / "filled"
        if parts != ["start"]:
            fill(place, home, wanted.memories)
        if "start" in parts:
            figures["start"] = start(place, wanted.rounds)
        if "search" in parts:
            figures["search"] = search(place, home, wanted.rounds, wanted.queries)
        if "memory" in parts:
            figures["memory"] = memory(place, home, wanted.rounds)
        if "takeover" in parts:
            figures["takeover"] = takeover(place, home, wanted.rounds)
        if "hook" in parts:
            figures["hook"] = hook(place, home)
    sys.stdout.write(table(figures))
    if wanted.json is not None:
        wanted.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


def _about(python: str) -> dict[str, str]:
    asked = (
        "import platform; from importlib.metadata import version; "
        "print(platform.python_version(), version('mcp'))"
    )
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)  # noqa: S603
    numbers = done.stdout.split()
    return {"python": numbers[0], "mcp": numbers[1]}


if __name__ == "__main__":
    main()
