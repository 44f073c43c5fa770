"""What a soak comes to: counted while it runs, printed as a table, kept as JSON."""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.tests.support.load.ledger import Verdict

_WORST = 10
_SLACK = 8
"""Handles that may be open for a moment: a file that is being read."""


@dataclass
class Sample:
    """How a process was at one moment. ``at`` is "open", or "closed" between two engines."""

    life: int
    at: str
    rss: float
    handles: int
    threads: int
    memories: int = 0


@dataclass
class Figures:
    """Counts and measures of all lives together.

    Attributes:
        operations: By act and outcome.
        failures: Events that must not be: leak, misplaced, missing, wrong, refused, error.
        verdict: What the comparisons with the vault found.
        stalls: (milliseconds of the loop, of them with the interpreter held, where), the worst.
        ended_while: What the index was doing, up to a second before a process was ended.
        audits: (found by recall, looked for) at the end of each life that ended by itself.
        noise_ms: The worst stall of the parent, which does next to nothing: what the machine adds.
    """

    name: str
    seed: int
    seconds: float = 0.0
    operations: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    verdict: Verdict = field(default_factory=Verdict)
    acknowledged: int = 0
    checks: int = 0
    kills: int = 0
    terminations: int = 0
    reloads: int = 0
    native_crashes: int = 0
    scope_check_drops: int = 0
    ended_while: Counter[str] = field(default_factory=Counter)
    builds: int = 0
    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    audits: list[tuple[int, int]] = field(default_factory=list)
    notices: Counter[str] = field(default_factory=Counter)
    stalls: list[tuple[float, float, str]] = field(default_factory=list)
    noise_ms: float = 0.0
    samples: list[Sample] = field(default_factory=list)
    more: dict[str, object] = field(default_factory=dict)

    def stall(self, loop_ms: float, interpreter_ms: float, where: str) -> None:
        """Keep the worst ones."""
        self.stalls.append((loop_ms, interpreter_ms, where))
        self.stalls = sorted(self.stalls, reverse=True)[:_WORST]

    @property
    def leaked(self) -> int:
        """Texts shown where they may not be seen."""
        return sum(1 for failure in self.failures if failure["event"] == "leak")

    def closed_handles(self) -> list[int]:
        """Of the longest life: open file handles each time that no engine was open."""
        return [sample.handles for sample in self._long() if sample.at == "closed"]

    def assert_handles_stay(self) -> None:
        """From reload to reload no file stays open; the first engine may leave some behind (what
        libraries open once)."""
        closed = self.closed_handles()
        assert len(closed) > 1
        assert max(closed[1:]) <= closed[0] + _SLACK, closed

    def _long(self) -> list[Sample]:
        lives = Counter(sample.life for sample in self.samples)
        longest = lives.most_common(1)[0][0] if lives else 0
        return [sample for sample in self.samples if sample.life == longest]

    def summary(self) -> dict[str, object]:
        """All figures under the names that the table shows."""
        long = self._long()
        opened = [sample for sample in long if sample.at == "open"]
        closed = [sample for sample in long if sample.at == "closed"]
        rejected = Counter[str]()
        for what, count in self.operations.items():
            if "rejected: " in what or what.endswith(" closed"):
                rejected[what.rpartition(" ")[2]] += count
        worst = self.stalls[0] if self.stalls else (0.0, 0.0, "")
        return {
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "operations": sum(self.operations.values()),
            "operations by kind": dict(sorted(self.operations.items())),
            "acknowledged writes": self.acknowledged,
            "lost": len(self.verdict.lost),
            "leaked": self.leaked,
            "misplaced": len(self.verdict.misplaced),
            "doubled": len(self.verdict.doubled),
            "forgotten and back": len(self.verdict.risen),
            "other failures": len(self.failures) - self.leaked,
            "rejected by reason": dict(sorted(rejected.items())),
            "reloads": self.reloads,
            "kill -9": self.kills,
            "SIGTERM": self.terminations,
            "seconds to (median, longest)": {
                what: f"{statistics.median(values):.2f}, {max(values):.2f}"
                for what, values in self.took.items()
            },
            "index built (the first time included)": self.builds,
            "index when ended": dict(sorted(self.ended_while.items())),
            "found by their own words": [f"{found} of {looked}" for found, looked in self.audits],
            "comparisons with the vault": self.checks,
            "native crashes": self.native_crashes,
            "refused by the second scope check": self.scope_check_drops,
            "notices": dict(sorted(self.notices.items())),
            "largest loop stall, ms": worst[0],
            "of it the interpreter held, ms": worst[1],
            "largest stall of an idle process beside it, ms": round(self.noise_ms, 1),
            "RSS open, MiB (start, after a third, end)": _three([s.rss for s in opened]),
            "RSS closed, MiB (start, after a third, end)": _three([s.rss for s in closed]),
            "memories (start, after a third, end)": _three([s.memories for s in opened]),
            "handles open (start, after a third, end)": _three([s.handles for s in opened]),
            "handles closed (start, after a third, end)": _three([s.handles for s in closed]),
            "threads open (start, after a third, end)": _three([s.threads for s in opened]),
            **self.more,
        }

    def table(self) -> str:
        """Two columns; what is counted by name takes a line each."""
        rows: list[tuple[str, str]] = []
        for name, value in self.summary().items():
            if isinstance(value, dict):
                rows.append((name, "" if value else "none"))
                rows += [(f"  {key}", str(count)) for key, count in value.items()]
            elif isinstance(value, list):
                rows.append((name, " / ".join(str(part) for part in value) or "none"))
            else:
                rows.append((name, str(value)))
        width = max(len(name) for name, _ in rows)
        return "\n".join([self.name, *(f"  {name:<{width}}  {value}" for name, value in rows)])

    def save(self, folder: Path) -> Path:
        """As JSON, with the worst stalls and every failure."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        whole = self.summary() | {
            "worst stalls": [
                {"loop ms": loop, "interpreter ms": held, "where": where}
                for loop, held, where in self.stalls
            ],
            "failures": self.failures,
            "lost serials": self.verdict.lost,
            "misplaced serials": self.verdict.misplaced,
            "forgotten and back serials": self.verdict.risen,
        }
        path.write_text(json.dumps(whole, ensure_ascii=False, indent=2), "utf-8")
        return path

    def assert_sound(self) -> None:
        """No loss, no leak, nothing that must not be. Times and sizes are not judged."""
        assert self.verdict == Verdict(), self.verdict
        assert self.failures == [], self.failures[:5]
        assert self.native_crashes == 0


def _three[N: (int, float)](values: list[N]) -> list[N]:
    return [values[0], values[len(values) // 3], values[-1]] if values else []
