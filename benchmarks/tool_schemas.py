"""What AstrBot takes of each message to check the tools' schemas, as ratios of one run.

AstrBot checks the schema of every tool against the meta-schema, and that one against itself, each
time that it makes a set of tools: ``by_empty`` is what our tools cost beside as many that take
nothing, ``without_one`` what they would cost if two were one.

    .venv/bin/python benchmarks/tool_schemas.py
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

from astrbot.core.agent.tool import FunctionTool, ToolSet  # noqa: E402

from astrbot_plugin_scoped_memory.tools import TOOLS  # noqa: E402

_ROUNDS = 30
_NOTHING = {"type": "object", "properties": {}}


def seconds(tools: Sequence[FunctionTool]) -> float:
    """Processor time of one set of these tools, the median."""
    took = []
    for _ in range(_ROUNDS):
        begun = time.process_time()
        ToolSet(list(tools))
        took.append(time.process_time() - begun)
    return statistics.median(took)


def main() -> None:
    """Print the ratios as JSON."""
    ours = [tool() for tool in TOOLS]
    empty = [FunctionTool(f"nothing_{n}", "", _NOTHING) for n in range(len(ours))]
    four = [one for one in ours if one.name != "expand_memory"]
    whole = seconds(ours)
    found = {
        "by_empty": round(whole / seconds(empty), 3),
        "without_one": round(seconds(four) / whole, 3),
        "characters": sum(len(json.dumps(one.parameters, ensure_ascii=False)) for one in ours),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
