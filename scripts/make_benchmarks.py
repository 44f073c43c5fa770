"""Write docs/dev/benchmarks.md.

    python scripts/make_benchmarks.py FOLDER [--longmemeval FILE] [--results FOLDER]

FOLDER holds ``<set>.dev.corpus.jsonl`` and ``<set>.dev.queries.jsonl``. ``benchmarks/retrieval.py``
and ``benchmarks/rivals.py`` measure each set without a model and with the bundled one;
``benchmarks/everyday.py`` plays each cast that was held out of the fit, and where its file is given
``benchmarks/longmemeval.py`` is run. With ``--results`` the answers are kept there and reused: all
of it may take an hour.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "dev" / "benchmarks.md"
SETS = (("memorybank", "zh"), ("memorybank", "en"), ("madial", "zh"), ("locomo", "en"))
CASTS = ROOT / "benchmarks" / "casts" / "held_out"
HEAD = """# 检索测得怎么样

由 `.venv/bin/python scripts/make_benchmarks.py 数据文件夹` 生成，不要手改。
{date} 量的。数据不随插件发布，来处见 [NOTICE](../../NOTICE)；多快见 [speed.md](speed.md)。

## 标好答案的数据

问题在自己的对话里问，每个对话是一个域，都在同一个库里，走机器人用的同一条路（`CognitiveService.recall`）。

- R@5 / R@10：标准答案里有几成排在前 5、前 10 条，按问题平均，单位 %，不看下限。
- 静：同样的问题拿到别的对话里问，有几成什么也不插入。答：前 5 条里有答案时，有几成照样插入。
  单位 %，用出厂的下限和条数。memorybank 的问题拿到别的对话里，有些也真答得上，所以到不了 100。
- 别人的做法照它们公开的配方重写，用同一个嵌入模型；没有模型时也只用词语。
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """Runs a benchmark on the data, or reads what it answered before."""

    data: Path
    results: Path
    haystacks: Path | None = None

    def everyday(self, cast: Path, embedder: str) -> Any:
        """What became of a cast's questions."""
        asked = ("--cast", str(cast), "--embedder", embedder)
        return self._answer(f"everyday.{cast.stem}.{embedder}", "everyday.py", *asked)

    def longmemeval(self, embedder: str) -> dict[str, Any]:
        """Its overall figures; nothing without its file."""
        if self.haystacks is None:
            return {}
        asked = (str(self.haystacks), "--embedder", embedder)
        found = self._answer(f"longmemeval.{embedder}", "longmemeval.py", *asked)
        return dict(found["session_level"]["overall"])

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


def labelled(bench: Bench) -> list[str]:
    """The order, and when nothing is injected, of each set without a model and with one."""
    names = ["数据", "嵌入", "本插件", "只用词语", "只用向量"]
    names += ["memsearch 的做法", "LivingMemory 的做法", "静", "答"]
    lines = [f"| {' | '.join(names)} |", f"| {' | '.join('---' for _ in names)} |"]
    for name, language in SETS:
        for embedder in (None, "bundled"):
            ours = bench("retrieval.py", name, language, embedder)
            cells = [pair(ours["arms"][arm]) for arm in ("hybrid", "lexical", "dense")]
            others = bench("rivals.py", name, language, embedder)
            cells += [pair(others[rival]) for rival in ("memsearch-like", "livingmemory-like")]
            nothing = ours["nothing"]
            cells.append(
                str(nothing["silent_elsewhere"]) if nothing["questions_elsewhere"] else "-"
            )
            cells.append(str(nothing["injected_where_answered"]))
            lines.append(f"| {name}-{language} | {embedder or '-'} | {' | '.join(cells)} |")
    return lines


PUBLISHED = """
## 别人公布的数法

单位 %。LoCoMo 是一半的数据：不含第 5 类（`adversarial`），也不含语料里找不到证据的问题。
“200 token 里”：附上的话一共至多 200 token 时，证据有一条、全部在里面的问题占几成。

| 数据 | 数什么 | 只用词语 | 自带的模型 | 命令 |
| --- | --- | --- | --- | --- |
"""
_LOCOMO = (
    "`retrieval.py --corpus locomo.dev.corpus.jsonl --queries locomo.dev.queries.jsonl --lang en`"
)
_LONGMEMEVAL = "`longmemeval.py longmemeval_s.json`"


def published(bench: Bench) -> list[str]:
    """What others tell of LoCoMo and LongMemEval-S, in their way of counting."""
    embedders = (None, "bundled")
    found = [bench("retrieval.py", "locomo", "en", embedder) for embedder in embedders]
    turns = [one["published"] for one in found]
    sessions = [one["session_level"]["overall"] for one in found]
    haystacks = [bench.longmemeval(embedder or "lexical") for embedder in embedders]
    many = f"LoCoMo，{turns[0]['questions']} 个问题"
    hits = ("hit@1", "any@5", "all@5")
    rows = (
        (many, "证据在前 5 / 10 句", turns, ("recall@5", "recall@10"), _LOCOMO),
        (many, "200 token 里，证据一条 / 全部", turns, ("any_told", "all_told"), _LOCOMO),
        (many, f"会话 {' / '.join(hits)}", sessions, hits, _LOCOMO),
        ("LongMemEval-S", f"会话 {' / '.join(hits)}", haystacks, hits, _LONGMEMEVAL),
    )
    lines = []
    for data, what, figures, names, command in rows:
        cells = [" / ".join(f"{100 * one[name]:.1f}" for name in names if one) for one in figures]
        cells = [cell or "这台机器上没有数据" for cell in cells]
        lines.append(f"| {data} | {what} | {' | '.join(cells)} | {command} |")
    return [PUBLISHED + "\n".join(lines)]


SESSIONS = """
## LoCoMo，会话级（session level）

这张表数的是会话，不是单条的话，不能和上面的 R@5 / R@10 比：找到的话按名次换成它所在的会话，
一个会话排在它最靠前的那句话的位置；标准答案是证据所在的会话。单位 %，MRR 除外。

- any@5 / all@5：前 5 个会话里有任何一个、有全部标准会话的问题占几成。
- `overall` 不含第 5 类（`adversarial`：对话里没有答案），它单列一行。
"""


def sessions(bench: Bench) -> list[str]:
    """LoCoMo at session level, as far as the results have it."""
    table = ["| 嵌入 | 类别 | 问题 | hit@1 | any@5 | all@5 | MRR |", f"|{' --- |' * 7}"]
    head = len(table)
    for embedder in (None, "bundled"):
        found = bench("retrieval.py", "locomo", "en", embedder).get("session_level", {})
        for category, scores in found.items():
            if category != "missing":
                cells = [f"{100 * scores[name]:.1f}" for name in ("hit@1", "any@5", "all@5")]
                cells = [str(scores["questions"]), *cells, f"{scores['mrr']:.3f}"]
                table.append(f"| {embedder or '-'} | `{category}` | {' | '.join(cells)} |")
    return [SESSIONS, *table] if len(table) > head else []


DAYS = """
## 日常的话

`benchmarks/casts/held_out/` 里的剧本由没见过引擎的人写，不进拟合：几个人十来天的话和二十个问题。
`benchmarks/everyday.py` 把它演一遍：读、过夜、再问。原话问、换个说法问，各答上几个；
几次先说了旧的；闲聊和没有答案的问题里，几成什么也不插入；一问插入多少 token。
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
    parser.add_argument("--longmemeval", type=Path, help="longmemeval_s.json, which is not there")
    parser.add_argument("--results", type=Path, help="a folder for what was measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.folder, options.results or Path(scratch), options.longmemeval)
        bench.results.mkdir(parents=True, exist_ok=True)
        today = datetime.now(UTC).date().isoformat()
        lines = [HEAD.format(date=today), *labelled(bench), *published(bench), *sessions(bench)]
        lines += days(bench)
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
