"""Writes docs/benchmarks.md: ``make_benchmarks.py FOLDER [--embedder PATH]``.

FOLDER holds ``<set>.dev.corpus.jsonl`` and ``<set>.dev.queries.jsonl``. Every figure is measured
anew, by ``benchmarks/retrieval.py`` and ``benchmarks/rivals.py``; with an embedder also with that,
on English.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "benchmarks.md"
SETS = (("memorybank", "zh"), ("memorybank", "en"), ("madial", "zh"), ("locomo", "en"))
HEAD = """# 检索测得怎么样

这一页由 `.venv/bin/python scripts/make_benchmarks.py 数据文件夹` 生成，不要手改。数据不随插件发布。

问题在自己的对话里问，每个对话是一个域，都在同一个库里，
走机器人用的同一条路（`CognitiveService.recall`）。
R@5、R@10：标准答案里有几成排在前 5、前 10 条，按问题平均，单位 %。
“没有可想的”：同样的问题拿到别的对话里问，有几成什么也不插入；
“答得上的”：前 5 条里有答案时，有几成照样插入。
两栏都用出厂的相关度下限。
"""


def run(script: str, folder: Path, name: str, language: str, embedder: str | None) -> Any:
    """What a benchmark's JSON says."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.json"
        command = [sys.executable, "-P", str(ROOT / "benchmarks" / script)]
        command += ["--corpus", str(folder / f"{name}.dev.corpus.jsonl")]
        command += ["--queries", str(folder / f"{name}.dev.queries.jsonl")]
        command += ["--lang", language, "--json", str(out)]
        command += ["--embedder", embedder] if embedder else []
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.loads(out.read_text("utf-8"))


def pair(scores: dict[str, float]) -> str:
    """R@5/R@10 in percent."""
    return f"{100 * scores['recall@5']:.1f} / {100 * scores['recall@10']:.1f}" if scores else "-"


def section(folder: Path, title: str, sets: Any, embedder: str | None) -> list[str]:
    """Two tables: the order, and when nothing is injected."""
    order = ["| 数据 | 本插件 | 只用词语 | 只用向量 | memsearch 的做法 | LivingMemory 的做法 |"]
    order += ["| --- | --- | --- | --- | --- | --- |"]
    silence = [
        "| 数据 | 没有可想的 | 答得上的 | p50 毫秒 | p95 毫秒 |",
        "| --- | --- | --- | --- | --- |",
    ]
    curves: list[str] = []
    for name, language in sets:
        ours = run("retrieval.py", folder, name, language, embedder)
        others = run("rivals.py", folder, name, language, embedder)
        arms = [pair(ours["arms"][arm]) for arm in ("hybrid", "lexical", "dense")]
        rivals = [pair(others[rival]) for rival in ("memsearch-like", "livingmemory-like")]
        order.append(f"| {name}-{language} | {' | '.join(arms + rivals)} |")
        nothing, times = ours["nothing"], ours["latency_ms"]
        silent = nothing["silent_elsewhere"] if nothing["questions_elsewhere"] else "-"
        silence.append(
            f"| {name}-{language} | {silent} | {nothing['injected_where_answered']}"
            f" | {times['p50']} | {times['p95']} |"
        )
        points = "，".join(
            f"{p['floor']:.2f}：{p['silent']} / {p['injected']}" for p in ours["curve"]
        )
        curves.append(f"- {name}-{language}：{points}")
    return [
        f"\n## {title}\n", *order, "\n下限起作用时（%）：\n", *silence,
        "\n换成别的下限（下限：没有可想的 / 答得上的，%）：\n", *curves,
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedder", help="a model's folder, for the English sets")
    options = parser.parse_args()
    lines = [HEAD, *section(options.folder, "没有模型", SETS, None)]
    if options.embedder:
        english = [one for one in SETS if one[1] == "en"]
        lines += section(options.folder, "配上一个小的英文模型", english, options.embedder)
    TARGET.write_text("\n".join(lines).replace("\n\n\n", "\n\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
