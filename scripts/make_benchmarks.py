"""Write docs/dev/benchmarks.md.

    python scripts/make_benchmarks.py FOLDER [--embedder PATH] [--results FOLDER]

FOLDER holds ``<set>.dev.corpus.jsonl`` and ``<set>.dev.queries.jsonl``. The figures are measured by
``benchmarks/retrieval.py`` and ``benchmarks/rivals.py``, without a model and with the bundled one,
which the rivals' recipes are given, too; with an embedder also with that, on the largest English
set. Then ``benchmarks/everyday.py`` plays each cast of ``benchmarks/casts``. With ``--results``
what they answer is kept there, and what is there already is not measured again: it may take an
hour.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "dev" / "benchmarks.md"
SETS = (("memorybank", "zh"), ("memorybank", "en"), ("madial", "zh"), ("locomo", "en"))
MODEL_SETS = (("locomo", "en"),)
CASTS = ROOT / "benchmarks" / "casts"
HEAD = """# 检索测得怎么样

这一页由 `.venv/bin/python scripts/make_benchmarks.py 数据文件夹` 生成，不要手改。数据不随插件发布。

问题在自己的对话里问，每个对话是一个域，都在同一个库里，
走机器人用的同一条路（`CognitiveService.recall`）。
R@5、R@10：标准答案里有几成排在前 5、前 10 条，按问题平均，单位 %。
“没有可想的”：同样的问题拿到别的对话里问，有几成什么也不插入；
“答得上的”：前 5 条里有答案时，有几成照样插入。
两栏都用出厂的相关度下限。
memorybank 的问题拿到别的对话里，有些也真答得上（“我喜欢什么样的音乐”），
所以“没有可想的”到不了 100 %。
多快见 [speed.md](speed.md)。
别人的做法照它们公开的配方重写，用的是同一个嵌入模型；没有模型时也只用词语。
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """Runs a benchmark on the data, or reads what it answered before."""

    data: Path
    results: Path

    def everyday(self, cast: Path, embedder: str) -> Any:
        """What became of a cast's questions."""
        asked = ("--cast", str(cast), "--embedder", embedder)
        return self._answer(f"everyday.{cast.stem}.{embedder}", "everyday.py", *asked)

    def __call__(
        self, script: str, name: str, language: str, embedder: str | None, *more: str
    ) -> Any:
        """What its JSON says."""
        model = Path(embedder or "words").name
        parts = (Path(script).stem, name, language, model, *(one.strip("-") for one in more))
        asked = [*more, "--corpus", str(self.data / f"{name}.dev.corpus.jsonl")]
        asked += ["--queries", str(self.data / f"{name}.dev.queries.jsonl"), "--lang", language]
        asked += ["--embedder", embedder] if embedder else []
        return self._answer(".".join(parts), script, *asked)

    def _answer(self, name: str, script: str, *asked: str) -> Any:
        """Of this run, or of one before under the same name."""
        out = self.results / f"{name}.json"
        if not out.exists():
            command = (
                sys.executable,
                str(ROOT / "benchmarks" / script),
                *asked,
                "--json",
                str(out),
            )
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.loads(out.read_text("utf-8"))


def pair(scores: dict[str, float]) -> str:
    """R@5/R@10 in percent."""
    return f"{100 * scores['recall@5']:.1f} / {100 * scores['recall@10']:.1f}" if scores else "-"


def section(bench: Bench, title: str, sets: Any, embedder: str | None) -> list[str]:
    """Two tables: the order, and when nothing is injected."""
    names = ["数据", "本插件", "只用词语", "只用向量"]
    names += ["memsearch 的做法", "LivingMemory 的做法"]
    order = [f"| {' | '.join(names)} |", f"| {' | '.join('---' for _ in names)} |"]
    silence = ["| 数据 | 没有可想的 | 答得上的 |", "| --- | --- | --- |"]
    curves: list[str] = []
    for name, language in sets:
        ours = bench("retrieval.py", name, language, embedder)
        arms = [pair(ours["arms"][arm]) for arm in ("hybrid", "lexical", "dense")]
        others = bench("rivals.py", name, language, embedder)
        rivals = [pair(others[rival]) for rival in ("memsearch-like", "livingmemory-like")]
        order.append(f"| {name}-{language} | {' | '.join(arms + rivals)} |")
        nothing = ours["nothing"]
        silent = nothing["silent_elsewhere"] if nothing["questions_elsewhere"] else "-"
        silence.append(f"| {name}-{language} | {silent} | {nothing['injected_where_answered']} |")
        if nothing["questions_elsewhere"]:
            points = "，".join(
                f"{p['floor']:.2f}：{p['silent']} / {p['injected']}" for p in ours["curve"]
            )
            curves.append(f"- {name}-{language}：{points}")
    return [
        f"\n## {title}\n", *order, "\n下限起作用时（%）：\n", *silence,
        "\n换成别的下限（下限：没有可想的 / 答得上的，%）：\n", *curves,
    ]  # fmt: skip


PARTS = """
## 上文和轻重各值多少

没有模型，R@5 / R@10。“轻重”是记得牢不牢、新不新（salience，上下不过 15 %）。
“打乱”：每个对话里的话互换位置和时间，前后再不相干，这时上文只是噪声：它不该让结果变差。
"""


def parts(bench: Bench) -> list[str]:
    """What salience and context are worth, and what context costs where it means nothing."""
    kinds: tuple[tuple[str, ...], ...] = (
        ("--without", "salience"),
        ("--without", "context"),
        ("--shuffle",),
        ("--shuffle", "--without", "context"),
    )
    table = ["| 数据 | 全部 | 不看轻重 | 不给上文 | 打乱 | 打乱、不给上文 |"]
    table += ["| --- | --- | --- | --- | --- | --- |"]
    for name, language in SETS:
        found = [bench("retrieval.py", name, language, None)]
        found += [bench("retrieval.py", name, language, None, "--order-only", *k) for k in kinds]
        cells = " | ".join(pair(one["overall"]) for one in found)
        table.append(f"| {name}-{language} | {cells} |")
    return [PARTS, *table]


DAYS = """
## 日常里

`benchmarks/casts/` 里每个剧本是几个人十来天的话和二十个问题，
`benchmarks/everyday.py` 把它演一遍：读、过夜、再问。
原话问、换个说法问各答上几个，几次先说了旧的；
闲聊和没有答案的问题里几成什么也不插入；一问插入多少 token。
问到密码的（自动隐去）、写下来时换了说法或补了日期的，也算没答上。
"""


def days(bench: Bench) -> list[str]:
    """What a bot knows after days of talk: with words alone, and with the bundled model."""
    table = ["| 剧本 | 嵌入 | 原话 | 换说法 | 先说旧的 | 不插入 % | token |"]
    table += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for cast in sorted(CASTS.glob("*.json")):
        for embedder in ("lexical", "bundled"):
            found = bench.everyday(cast, embedder)
            cells = [f"{found[name]} / {found['questions']}" for name in ("original", "paraphrase")]
            cells += [str(found["stale"]), f"{100 * found['silent']:.0f}"]
            cells += [str(found["injected_tokens_per_question"])]
            table.append(f"| {cast.stem} | `{embedder}` | {' | '.join(cells)} |")
    return [DAYS, *table]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedder", help="a model's folder, for the English sets")
    parser.add_argument("--name", default="all-MiniLM-L6-v2", help="what the model is called")
    parser.add_argument("--results", type=Path, help="a folder for what was measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.folder, options.results or Path(scratch))
        bench.results.mkdir(parents=True, exist_ok=True)
        lines = [HEAD, *section(bench, "没有模型", SETS, None)]
        lines += section(bench, "自带的模型（`bundled`）", SETS, "bundled")
        lines += [*parts(bench), *days(bench)]
        if options.embedder:
            title = f"配上一个小的英文模型（{options.name}）"
            lines += section(bench, title, MODEL_SETS, options.embedder)
    TARGET.write_text("\n".join(lines).replace("\n\n\n", "\n\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
