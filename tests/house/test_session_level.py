"""The figures at session level: of benchmarks/retrieval.py, and in docs/dev/benchmarks.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import make_benchmarks
import pytest

from astrbot_plugin_scoped_memory.benchmarks.scores import session_level, session_scored
from astrbot_plugin_scoped_memory.tests.support import benchmarks

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize(
    ("turns", "gold", "figures"),
    [
        ("aabac", "a", (1, 1, 1, 1)),
        ("aabac", "b", (0, 1, 1, 1 / 2)),
        ("aabac", "bc", (0, 1, 1, 1 / 2)),
        ("aabac", "bx", (0, 1, 0, 1 / 2)),
        ("aaaaaabcde", "e", (0, 1, 1, 1 / 5)),
        ("abcdef", "f", (0, 0, 0, 1 / 6)),
        ("abcdef", "af", (1, 1, 0, 1)),
        ("abc", "x", (0, 0, 0, 0)),
        ("abc", "", (0, 0, 0, 0)),
        ("", "a", (0, 0, 0, 0)),
    ],
)
def test_a_session_ranks_where_its_first_turn_does(
    turns: str, gold: str, figures: tuple[float, ...]
) -> None:
    assert tuple(session_scored(list(turns), set(gold)).values()) == figures


def test_means_are_by_category_and_one_category_counts_only_for_itself() -> None:
    hit, miss = session_scored(["a"], {"a"}), session_scored(["a"], {"b"})
    found = session_level([("", hit), ("z", hit), ("z", miss), ("adv", miss)], apart="adv")
    assert list(found) == ["overall", "no category", "z", "adv"]
    assert [one["questions"] for one in found.values()] == [3, 1, 2, 1]
    assert [one["any@5"] for one in found.values()] == [0.6667, 1.0, 0.5, 0.0]


def _retrieval(folder: Path, *rows: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Both figures of a corpus, asked in words alone, and what is printed."""
    queries = [
        {"question": "Where is the ladder?", "gold_ids": [0, 3], "category": "multi-hop"},
        {"question": "Who repaired the kettle?", "gold_ids": [4], "category": "adversarial"},
    ]
    asked = [{"id": n, "conv": "c", "lang": "en"} | one for n, one in enumerate(queries)]
    said = [{"id": n, "conv": "c", "speaker": "Ann"} | row for n, row in enumerate(rows)]
    arguments: list[str | Path] = ["--lang", "en", "--order-only", "--json", folder / "out.json"]
    for name, lines in (("corpus", said), ("queries", asked)):
        path = folder / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
        arguments += [f"--{name}", path]
    printed = benchmarks.play("retrieval.py", *arguments)
    return json.loads((folder / "out.json").read_text("utf-8"))["session_level"], printed


SAID = (
    {"scope": "s1", "text": "The ladder is in the shed"},
    {"scope": "s1", "text": "We had soup for lunch"},
    {"scope": "s2", "text": "Trains were late again"},
    {"scope": "s3", "text": "The ladder is in the cellar"},
    {"scope": "s3", "text": "Bob repaired the kettle"},
)


def test_retrieval_ranks_the_sessions_of_the_turns(tmp_path: Path) -> None:
    found, printed = _retrieval(tmp_path, *SAID)
    right = {"questions": 1, "hit@1": 1.0, "any@5": 1.0, "all@5": 1.0, "mrr": 1.0}
    assert found == {"overall": right, "multi-hop": right, "adversarial": right}
    assert "session level.multi-hop" in printed


def test_rows_without_a_session_have_no_figures_but_words(tmp_path: Path) -> None:
    found, printed = _retrieval(tmp_path, *SAID[:4], {"text": "Bob repaired the kettle"})
    assert found == {"missing": "1 of 5 rows name no session ('scope')"}
    assert found["missing"] in printed


def test_the_docs_have_a_table_of_their_own_where_the_results_do() -> None:
    scores = {"questions": 3, "hit@1": 0.5, "any@5": 0.75, "all@5": 0.25, "mrr": 0.61}
    for level, lines in (
        ({"session_level": {"overall": scores}}, ["| - | `overall` | 3 | 50.0 | 75.0 | 25.0 |"]),
        ({"session_level": {"missing": "sessions"}}, []),
        ({}, []),
    ):
        written = make_benchmarks.sessions(lambda *_, found=level: found)
        assert [line for line in written if "`overall` |" in line][:1] == [
            f"{line} 0.610 |" for line in lines
        ]
