"""What of a model's answers about turns stands: faithful items are to, bent ones not.

    python benchmarks/grounding.py [FILE ...] [--missed]

FILE: JSON as ``tests/data/grounding.*.json``, which are read by default: turns, an item of an
answer, and whether it says what they said. Printed are the shares of faithful items that are kept
and of bent ones that are refused, by file; ``--missed`` lists the others.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import checkout  # noqa: E402

checkout.register()

from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.grounding import (  # noqa: E402
    grounded,
)
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.prompt import (  # noqa: E402
    reflection_prompt,
)
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.reading import (  # noqa: E402
    read_reply,
)
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.reply import (  # noqa: E402
    ReflectionReply,
    parse_reply,
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--missed", action="store_true")
    args = parser.parse_args()
    for path in args.files or sorted((ROOT / "tests" / "data").glob("grounding.*.json")):
        pairs = json.loads(path.read_text("utf-8"))
        wrong = [pair for pair in pairs if stands(pair) != (pair["verdict"] == "faithful")]
        for verdict in ("faithful", "bent"):
            count = sum(pair["verdict"] == verdict for pair in pairs)
            right = count - sum(pair["verdict"] == verdict for pair in wrong)
            tell(f"{path.name:20} {verdict:9} {right:3} of {count}  {100 * right / count:5.1f} %")
        for pair in wrong if args.missed else ():
            said = " / ".join(f"{one['who']}：{one['user']}｜{one['bot']}" for one in pair["turns"])
            tell(f"  {pair['id']} {pair['kind']}: {said} -> {pair['item']['judgment']}")


def tell(line: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{line}\n")


def stands(pair: Mapping[str, Any]) -> bool:
    """Returns whether the item stands as it is, with its words and its day, after all guards."""
    turns = [_turn(number, one) for number, one in enumerate(pair["turns"])]
    parsed = parse_reply(json.dumps({"new_memories": [pair["item"]]}, ensure_ascii=False))
    if not isinstance(parsed, ReflectionReply):
        return False
    left = grounded(parsed, turns, reflection_prompt(turns, [], most_tokens=10_000))
    reply = getattr(left, "value", left)
    if not isinstance(reply, ReflectionReply):
        return False
    given, drafts = pair["item"], read_reply(reply, turns).drafts
    return any(
        (one.judgment, one.day is None)
        == (given["judgment"], given.get("when") in (None, one.said_at))
        for one in drafts
    )


def _turn(number: int, given: Mapping[str, str]) -> QueuedTurn:
    who, at = given["who"], datetime.fromisoformat(given["at"])
    said = (given["user"], given["bot"])
    return QueuedTurn(f"t-{number}", "家人", "q:GroupMessage:7", "", at, f"q:{who}", who, *said)


if __name__ == "__main__":
    main()
