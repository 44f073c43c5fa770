"""What our cutter of Han text costs beside jieba itself, which gives the same words.

    python benchmarks/segmenter.py [--rounds 3] --json OUT

Each round of each has a process of its own. Memory is what the process has more than before the
dictionary was loaded; the first round of ours makes the cache that the others read, as the first
start of a bot does. Milliseconds depend on how busy the machine is: compare, don't quote.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

import checkout  # (it lies in scripts/, which the line above makes visible)

checkout.register()

from astrbot_plugin_scoped_memory.llm_memory.text.dictionary import (  # noqa: E402
    Segmenter,
    load_words,
)

(DICTIONARY,) = map(Path, importlib.util.find_spec("jieba").submodule_search_locations)
TEXT = "周末全家去江边骑车，奶奶对花生过敏，爷爷的降压药放在床头柜左边的抽屉里。" * 3000


def megabytes() -> float:
    """The resident memory of this process now."""
    with Path("/proc/self/status").open(encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def load_jieba(_: Path) -> Callable[[str], list[str]]:
    """jieba as its users import it."""
    import jieba

    jieba.setLogLevel(logging.ERROR)
    tokenizer = jieba.Tokenizer()
    tokenizer.initialize()
    return lambda text: list(tokenizer.lcut(text, HMM=False))


def load_ours(cache: Path) -> Callable[[str], list[str]]:
    """The same dictionary in arrays."""
    with (DICTIONARY / "dict.txt").open("rb") as file:
        return Segmenter(load_words(file, cache)).cut


LOADERS = {"jieba": load_jieba, "ours": load_ours}


def measure(name: str, cache: Path) -> dict[str, float]:
    """One round, in this process."""
    import numpy  # noqa: F401  (both run beside it)

    before, began = megabytes(), time.perf_counter()
    cut = LOADERS[name](cache)
    cut("忆域")
    loaded, memory = time.perf_counter(), megabytes() - before
    cut(TEXT)
    return {
        "load_ms": (loaded - began) * 1000,
        "memory_mb": memory,
        "cut_ms": (time.perf_counter() - loaded) * 1000,
    }


def main() -> None:
    """Alternate both, so that a busy moment of the machine hits both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        sys.stdout.write(json.dumps(measure(options.one, options.cache)))
        return
    found: dict[str, list[dict[str, float]]] = {name: [] for name in LOADERS}
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "dictionary.bin"
        for _ in range(options.rounds):
            for name in LOADERS:
                command = [sys.executable, __file__, "--one", name, "--cache", str(cache)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
                found[name].append(json.loads(done.stdout))
    for name, rounds in found.items():
        for one in rounds:
            figures = {key: round(value, 1) for key, value in one.items()}
            sys.stdout.write(f"{name} {figures}\n")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
