"""How well private things are told from what only looks like them.

    python benchmarks/privacy.py [--misses]

Reads tests/data/privacy.jsonl: invented lines in Chinese and English, every private thing marked as
``⟦kind|value⟧`` (a ``¦`` inside a value is taken out: it keeps scanners from calling the file a
leak). Recall is the share of marked things that are hidden whole; precision the share of hidden
things that touch a marked one of their kind.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import checkout  # noqa: E402

checkout.register()

from astrbot_plugin_scoped_memory.llm_memory.remember.rules.private import HIDDEN, Span, find  # noqa: E402

DATA = ROOT / "tests" / "data" / "privacy.jsonl"
_MARKED = re.compile(r"⟦([a-z_]+)\|([^⟧]*)⟧")
_SPLIT = "¦"


@dataclass(frozen=True, slots=True)
class Line:
    """A text and what is private in it."""

    lang: str
    text: str
    private: tuple[Span, ...]


@dataclass(slots=True)
class Score:
    """Counts of marked and of hidden things."""

    marked: int = 0
    hidden_whole: int = 0
    found: int = 0
    rightly: int = 0
    misses: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """1 where nothing was marked."""
        return self.hidden_whole / self.marked if self.marked else 1.0

    @property
    def precision(self) -> float:
        """1 where nothing was found."""
        return self.rightly / self.found if self.found else 1.0


def read(path: Path = DATA) -> list[Line]:
    """The labelled lines."""
    raws = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [_line(raw["lang"], raw["text"]) for raw in raws]


def _line(lang: str, marked: str) -> Line:
    text, at, private = "", 0, []
    for match in _MARKED.finditer(marked):
        text += marked[at : match.start()]
        value = match[2].replace(_SPLIT, "")
        private.append((match[1], len(text), len(text) + len(value)))
        text, at = text + value, match.end()
    return Line(lang, text + marked[at:], tuple(private))


def score(lines: Iterable[Line]) -> dict[str, Score]:
    """Recall and precision by kind."""
    scores = {kind: Score() for kind in HIDDEN}
    for line in lines:
        found = find(line.text)
        for kind, start, end in line.private:
            scores[kind].marked += 1
            if any(since <= start and end <= until for _, since, until in found):
                scores[kind].hidden_whole += 1
            else:
                scores[kind].misses.append(f"not hidden: {line.text[start:end]!r} in {line.text!r}")
        for kind, start, end in found:
            scores[kind].found += 1
            if any(k == kind and start < until and since < end for k, since, until in line.private):
                scores[kind].rightly += 1
            else:
                scores[kind].misses.append(f"hidden: {line.text[start:end]!r} in {line.text!r}")
    return scores


def over_all(scores: Iterable[Score]) -> Score:
    """The counts of all kinds together."""
    counts: Counter[str] = Counter()
    for one in scores:
        for name in ("marked", "hidden_whole", "found", "rightly"):
            counts[name] += getattr(one, name)
    return Score(**counts)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="show what went wrong")
    options = parser.parse_args()
    lines = read()
    scores = score(lines)
    plain = sum(1 for line in lines if not line.private)
    said = [
        f"{len(lines)} lines, {plain} without anything private",
        f"{'kind':<12} {'marked':>7} {'found':>7} {'recall':>7} {'precision':>10}",
    ]
    for name, one in [*scores.items(), ("all", over_all(scores.values()))]:
        figures = f"{one.marked:>7} {one.found:>7} {one.recall:>7.3f} {one.precision:>10.3f}"
        said.append(f"{name:<12} {figures}")
    if options.misses:
        said += [miss for one in scores.values() for miss in one.misses]
    sys.stdout.write("\n".join(said) + "\n")


if __name__ == "__main__":
    main()
