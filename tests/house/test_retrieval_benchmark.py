"""benchmarks/retrieval.py and rivals.py run, and answer what docs/dev/benchmarks.md reads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.benchmarks.scores import means, scored, session_found
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support import benchmarks

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.timeout(300)
TALKS = {
    "c1": ["奶奶对花生过敏", "下周去青岛看海", "钥匙放在鞋柜第二层", "小明的吉他课在周六"],
    "c2": ["打印机在三楼", "新来的会计姓孙", "食堂周五有带鱼", "门禁卡要押金"],
}
QUESTIONS = [
    {"id": text, "conv": conv, "lang": "zh", "question": text, "gold_ids": [gold], "category": kind}
    for conv, text, gold, kind in (
        ("c1", "奶奶对什么过敏", "c1/0", "single-hop"),
        ("c1", "钥匙放在哪里", "c1/2", "single-hop"),
        ("c2", "打印机在几楼", "c2/0", "temporal"),
        ("c2", "食堂周几有海参", "c2/2", "adversarial"),
    )
]


def rows_of(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return path


def measured(
    program: str,
    out: Path,
    corpus: Sequence[dict[str, Any]],
    queries: Sequence[dict[str, Any]],
    *more: str,
) -> None:
    """Has a program write its figures of these rows to ``out``."""
    rows = [
        *("--corpus", rows_of(out.with_name("c.jsonl"), corpus)),
        *("--queries", rows_of(out.with_name("q.jsonl"), queries)),
    ]
    benchmarks.play(program, *rows, *more, "--lang", "zh", "--json", out)


@pytest.mark.parametrize("more", [(), ("--order-only", "--shuffle", "--without", "context")])
def test_it_runs_and_answers_what_is_read_of_it(tmp_path: Path, more: tuple[str, ...]) -> None:
    corpus = [
        {"id": f"{c}/{n}", "conv": c, "scope": f"{c}/s", "speaker": "小红", "text": text}
        | {"time": f"2024-03-0{n + 1}T08:00:00"}
        for c, talk in TALKS.items()
        for n, text in enumerate(talk)
    ]
    out = tmp_path / "out.json"
    measured("retrieval.py", out, corpus, QUESTIONS, *more)
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


def test_each_figure_is_what_its_name_says() -> None:
    found = [*"abcdefghij", "k"]
    one = scored(found, {"c", "g", "k", "elsewhere"})
    assert {name: round(value, 4) for name, value in one.items()} == {
        "recall@1": 0.0,
        "recall@5": 0.25,
        "recall@10": 0.5,
        "mrr": 0.3333,
        "ndcg@10": round((1 / 2 + 1 / 3) / (1 + 0.63093 + 1 / 2 + 0.43068), 4),
    }
    assert set(scored(["a", "b"], {"a", "b"}).values()) == {1.0, 0.5}  # two have no room in one
    assert set(scored([], {"a"}).values()) == {0.0}
    assert session_found(["x", "y"], {"y", "z"}) == {"recall@5": 1.0, "recall@10": 1.0}
    assert session_found([*"xxxxxy"], {"y"}) == {"recall@5": 0.0, "recall@10": 1.0}
    assert means([{"mrr": 1.0}, {"mrr": 0.0}, {"mrr": 0.0}]) == {"mrr": 0.3333}


def test_a_row_follows_on_the_one_before_in_its_own_session(tmp_path: Path) -> None:
    labelled = benchmarks.module("labelled")
    at = "2024-03-01T08:00:00"
    raw = [
        {"id": str(n), "conv": conv, "scope": session, "speaker": "小红", "text": text, "time": at}
        for n, (conv, session, text) in enumerate(
            [
                ("c1", "早", "早一"), ("c1", "晚", "晚一"), ("c1", "早", "早二"),
                ("c2", "早", "别人的"), ("c1", "晚", "晚二"), ("c1", "早", "早三"),
            ]
        )
    ]  # fmt: skip
    for context, follows in (
        (True, {"早二": "小红: 早一", "早三": "小红: 早二", "晚二": "小红: 晚一"}),
        (False, {}),
    ):
        root = tmp_path / str(context)
        library = labelled.Library.read(raw)
        library.write_vault(root, context=context)
        vault = MarkdownVault(root)
        memories = [one.memory for scope in vault.scopes() for one in vault.read(scope).memories]
        assert len(memories) == len(raw)
        assert {m.judgment: m.context for m in memories if m.context} == follows


def test_odd_rows_are_read_and_other_languages_left_out(tmp_path: Path) -> None:
    texts = ["嗯", "嗯", "卡号是4111111111111111", "猫叫\u2028团团", "狗叫\x85豆豆", "钥匙在鞋柜"]
    corpus = [
        {"id": n, "conv": "c/ 1", "scope": None, "speaker": None, "text": text, "time": None}
        for n, text in enumerate(texts)
    ]
    queries = [
        {"id": "q1", "conv": "c/ 1", "lang": "zh", "question": "钥匙在哪里", "gold_ids": [5, 99]},
        {"id": "q2", "conv": "c/ 1", "lang": "zh", "question": "猫叫什么", "gold_ids": [3]},
        {"id": "q3", "conv": "c/ 1", "lang": "zh", "question": "卡号是多少", "gold_ids": [2]},
        {"id": "q4", "conv": "c/ 1", "lang": "zh", "question": "天气", "gold_ids": [4]}
        | {"category": "adversarial"},
        {"id": "q5", "conv": "c/ 1", "lang": "en", "question": "what is it", "gold_ids": [4]},
    ]
    out = tmp_path / "out.json"
    measured("retrieval.py", out, corpus, queries)
    found = json.loads(out.read_text("utf-8"), parse_constant=pytest.fail)
    assert found["nothing"]["silent_elsewhere"] is None  # there is no other conversation
    # Half of the gold of the first question is in no row; the adversarial one counts nowhere else.
    assert found["overall"]["recall@1"] == round(2.5 / 3, 4)
    assert found["by_category"]["adversarial"]["recall@10"] == 0.0


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-03-01", "2024-03-01T00:00:00+00:00"),
        ("20240301", "2024-03-01T00:00:00+00:00"),
        ("2024-03", "2024-03-01T00:00:00+00:00"),
        ("2024", "2024-01-01T00:00:00+00:00"),
        ("2024-061", "2024-03-01T00:00:00+00:00"),
        ("2024061", "2024-03-01T00:00:00+00:00"),
        ("2024-W09-5", "2024-03-01T00:00:00+00:00"),
        ("2024W095", "2024-03-01T00:00:00+00:00"),
        ("2024-03-01T08", "2024-03-01T08:00:00+00:00"),
        ("2024-03-01T08:15", "2024-03-01T08:15:00+00:00"),
        ("2024-03-01 08:15:30", "2024-03-01T08:15:30+00:00"),
        (" 2024-03-01t08:15:30z\n", "2024-03-01T08:15:30+00:00"),
        ("20240301T081530Z", "2024-03-01T08:15:30+00:00"),
        ("20240301T0815+0800", "2024-03-01T08:15:00+08:00"),
        ("2024-03-01T08:15:30,5+08", "2024-03-01T08:15:30.500000+08:00"),
        ("2024-03-01T08:15:30.123456789-05:30", "2024-03-01T08:15:30.123456-05:30"),
        ("2024-02-29T24:00:00Z", "2024-03-01T00:00:00+00:00"),
    ],
)
def test_a_date_in_any_form_of_iso_is_read(text: str, iso: str) -> None:
    assert benchmarks.module("iso_dates").moment(text).isoformat() == iso


@pytest.mark.parametrize("text", ["", "yesterday", "2024-13-01", "08:15", "1709280000"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        benchmarks.module("iso_dates").moment(text)


def test_a_row_without_a_time_was_said_when_the_one_before_it_was() -> None:
    labelled = benchmarks.module("labelled")
    times = {"b": "2023-05-01", "d": "2023-05-03T10:00", "x": "2020-01-01", "a": None, "c": ""}
    raw = [
        {"id": name, "conv": "c2" if name == "x" else "c1", "text": name}
        | ({"time": times[name]} if name in times else {})
        for name in "abxcde"
    ]
    found = labelled.Library.read(raw)
    days = {name: f"{row.at:%Y-%m-%d}" for name, row in found.rows.items()}
    assert days == {
        "a": "2023-05-01",
        "b": "2023-05-01",
        "c": "2023-05-01",
        "d": "2023-05-03",
        "e": "2023-05-03",
        "x": "2020-01-01",
    }
    assert f"{found.end('c1'):%Y-%m-%d}" == "2023-05-04"
    bare = labelled.Library.read([{"id": "1", "conv": "c", "text": "no time at all"}])
    assert bare.rows["1"].at.tzinfo is not None


ROW = {"id": 1, "conv": 5, "text": "我的猫叫团团"}
QUESTION = {"id": 2, "conv": 5, "lang": "zh", "question": "猫叫什么", "gold_ids": [1]}


@pytest.mark.parametrize(
    ("row", "question", "says"),
    [
        (ROW | {"text": None}, QUESTION, "c.jsonl: row 1: 'text' should be words, is None"),
        (ROW | {"time": "昨天"}, QUESTION, "c.jsonl: row 1: 'time' is no date"),
        ([ROW], QUESTION, "c.jsonl: line 1: should be an object"),
        (ROW, QUESTION | {"gold_ids": None}, "q.jsonl: row 1: 'gold_ids' should be a list"),
        (ROW, QUESTION | {"conv": "zz"}, "nothing is in the corpus of 'zz'"),
        (ROW, QUESTION | {"lang": "en"}, "no question has 'lang' 'zh'"),
    ],
)
def test_what_is_wrong_with_rows_is_said(
    tmp_path: Path, row: Any, question: Any, says: str
) -> None:
    module = benchmarks.module("labelled_rows")
    corpus = rows_of(tmp_path / "c.jsonl", [row])
    queries = rows_of(tmp_path / "q.jsonl", [question])
    with pytest.raises(module.BadRows, match=re.escape(says)):
        module.question_rows(queries, module.corpus_rows(corpus), "zh")


@pytest.mark.parametrize("program", ["retrieval.py", "rivals.py"])
def test_numbers_are_names_too_and_nobody_need_have_said_it(tmp_path: Path, program: str) -> None:
    out = tmp_path / "out.json"
    measured(program, out, [ROW], [QUESTION])
    found = json.loads(out.read_text("utf-8"))
    figures = found.get("memsearch-like") or found["overall"]
    assert figures["recall@1"] == 1.0


@pytest.mark.parametrize("program", ["retrieval.py", "rivals.py"])
def test_a_model_that_nobody_knows_is_refused_at_once(tmp_path: Path, program: str) -> None:
    command = [sys.executable, "-P", str(ROOT / "benchmarks" / program), "--lang", "zh"]
    command += ["--corpus", "c", "--queries", "q", "--json", "o", "--embedder", "bundeld"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "not lexical, bundled, owner/model or a folder: 'bundeld'" in done.stderr


@pytest.mark.parametrize("model", ["lexical", pytest.param("bundled", marks=pytest.mark.model)])
def test_the_rivals_are_measured_by_the_same_figures(tmp_path: Path, model: str) -> None:
    corpus = [
        {"id": f"{c}/{n}", "conv": c, "speaker": "小红", "text": text}
        for c, talk in TALKS.items()
        for n, text in enumerate(talk)
    ]
    out = tmp_path / "out.json"
    measured("rivals.py", out, corpus, QUESTIONS, "--embedder", model)
    found = json.loads(out.read_text("utf-8"))
    assert set(found) == {"memsearch-like", "livingmemory-like"}
    for figures in found.values():
        assert figures["recall@5"] == 1.0
        assert set(figures) == set(scored([], {"a"}))
