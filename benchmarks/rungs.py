"""What each embedding model costs by itself: disk, memory, load, a question, a text.

    python benchmarks/rungs.py [--model NAME=FOLDER] --json OUT

Measured are the bundled packages that are installed, and each model's folder that is named. Each
has a process of its own, which imports nothing else; one compute thread. Memory is the most that
process ever had. Milliseconds depend on how busy the machine is: compare, don't quote.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

import checkout  # (it lies in scripts/, which the line above makes visible)

checkout.register()

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.encoders import (  # noqa: E402
    TorchModel,
    open_onnx,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.program import (  # noqa: E402
    BUNDLED,
)

_ROUNDS = 5
_PROBES = Path(__file__).resolve().parent.parent / "llm_memory" / "recall" / "probes.json"
_PAIRS = [pair for pairs in json.loads(_PROBES.read_text("utf-8")).values() for pair in pairs]

type Encode = Callable[[Sequence[str], bool], Any]


def opened(rung: str) -> Encode:
    """From ``bundled:MODULE`` or a folder."""
    kind, _, module = rung.partition("bundled:")
    if not kind:
        return BUNDLED[module][1]()
    folder = Path(rung)
    return (open_onnx(folder, folder.name) or TorchModel(folder, folder.name)).encode


def measured(rung: str) -> dict[str, float]:
    """In this process, which has done nothing yet."""
    began = time.perf_counter()
    encode = opened(rung)
    encode([_PAIRS[0][0]], True)
    loaded = time.perf_counter() - began
    asked = []
    for number, (query, _) in enumerate(_PAIRS * _ROUNDS):
        query = f"{query} {number}"  # an answer may be remembered
        began = time.perf_counter()
        encode([query], True)
        asked.append((time.perf_counter() - began) * 1000)
    began = time.perf_counter()
    for number in range(_ROUNDS):
        encode([f"{text} {number}" for _, text in _PAIRS], False)
    texts = _ROUNDS * len(_PAIRS) / (time.perf_counter() - began)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "disk_mb": round(_bytes(rung) / 1e6),
        "memory_mb": round(memory),
        "load_seconds": round(loaded, 1),
        "query_ms": round(statistics.median(asked), 1),
        "texts_a_second": round(texts),
    }


def _bytes(rung: str) -> int:
    module = rung.removeprefix("bundled:")
    spec = importlib.util.find_spec(module) if module != rung else None
    folder = Path(spec.origin).parent if spec and spec.origin else Path(rung)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        sys.stdout.write(json.dumps(measured(options.one)))
        return
    rungs = {one: f"bundled:{one}" for one in BUNDLED if importlib.util.find_spec(one)}
    rungs |= dict(named.split("=", 1) for named in options.model)
    figures = {}
    for name, rung in rungs.items():
        command = [sys.executable, "-P", __file__, "--one", rung]
        done = subprocess.run(  # noqa: S603  (our own program)
            command, check=True, capture_output=True, text=True
        )
        figures[name] = json.loads(done.stdout)
        sys.stdout.write(f"{name} {figures[name]}\n")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
