"""benchmarks/retrieval.py runs, and answers what docs/benchmarks.md and others read of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.timeout(300)
TALKS = {
    "c1": ["奶奶对花生过敏", "下周去青岛看海", "钥匙放在鞋柜第二层", "小明的吉他课在周六"],
    "c2": ["打印机在三楼", "新来的会计姓孙", "食堂周五有带鱼", "门禁卡要押金"],
}
QUESTIONS = [
    ("c1", "奶奶对什么过敏", "c1/0", "single-hop"),
    ("c1", "钥匙放在哪里", "c1/2", "single-hop"),
    ("c2", "打印机在几楼", "c2/0", "temporal"),
    ("c2", "食堂周几有海参", "c2/2", "adversarial"),
]


def rows_of(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return path


@pytest.mark.parametrize("more", [(), ("--order-only", "--shuffle", "--without", "context")])
def test_it_runs_and_answers_what_is_read_of_it(tmp_path: Path, more: tuple[str, ...]) -> None:
    corpus = [
        {"id": f"{c}/{n}", "conv": c, "scope": f"{c}/s", "speaker": "小红", "text": text}
        | {"time": f"2024-03-0{n + 1}T08:00:00"}
        for c, talk in TALKS.items()
        for n, text in enumerate(talk)
    ]
    queries = [
        {"id": f"q{n}", "conv": c, "lang": "zh", "question": text, "gold_ids": [gold]}
        | {"category": category}
        for n, (c, text, gold, category) in enumerate(QUESTIONS)
    ]
    out = tmp_path / "out.json"
    command = [sys.executable, "-P", str(ROOT / "benchmarks" / "retrieval.py"), *more]
    command += ["--corpus", str(rows_of(tmp_path / "c.jsonl", corpus))]
    command += ["--queries", str(rows_of(tmp_path / "q.jsonl", queries))]
    subprocess.run([*command, "--lang", "zh", "--json", str(out)], check=True, timeout=240)
    found = json.loads(out.read_text("utf-8"))
    measures = {"recall@1", "recall@5", "recall@10", "mrr", "ndcg@10"}
    assert set(found["overall"]) == measures
    assert found["overall"]["recall@5"] == 1.0
    assert set(found["by_category"]) == {"single-hop", "temporal", "adversarial"}
    assert set(found["session_any"]) == {"recall@5", "recall@10"}
    assert set(found["latency_ms"]) == {"p50", "p95"}
    if more:
        assert set(found["arms"]) == {"hybrid"}
        return
    assert set(found["arms"]) == {"lexical", "dense", "hybrid"}
    assert found["nothing"]["questions_elsewhere"] == 3
    assert found["nothing"]["silent_elsewhere"] == 100.0
    assert found["nothing"]["injected_where_answered"] == 100.0
    silent = [point["silent"] for point in found["curve"]]
    injected = [point["injected"] for point in found["curve"]]
    assert silent == sorted(silent)
    assert injected == sorted(injected, reverse=True)
