"""benchmarks/longmemeval.py on a file of three questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.tests.support import benchmarks

pytestmark = pytest.mark.timeout(300)


def _turn(content: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content}


GOOD: dict[str, Any] = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "Which instrument do I play?",
    "answer": 1,
    "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_session_ids": ["s1", "answer_1", "s3"],
    "haystack_dates": [f"2023/05/2{n} (Sat) 02:21" for n in range(3)],
    "haystack_sessions": [
        [_turn("Trains were late\n\n## again\n- today"), _turn("Which trains?", "assistant")],
        [_turn("I play an instrument: the cello") | {"has_answer": True}, _turn("")],
        [_turn("How long do eggs boil?"), _turn("Use the copper saucepan", "assistant")],
    ],
    "answer_session_ids": ["answer_1"],
}
BOTH = [
    GOOD,
    GOOD | {"question_id": "q2_abs", "answer_session_ids": []},
    GOOD
    | {"question_id": "q3", "question_type": "single-session-assistant"}
    | {"question": "Which saucepan?", "answer_session_ids": ["s3"]},
]


def _longmemeval(folder: Path, instances: Any, *more: str | Path) -> str:
    path = folder / "longmemeval_s.json"
    path.write_text(json.dumps(instances), "utf-8")
    return benchmarks.play("longmemeval.py", path, *more)


def test_each_question_of_longmemeval_is_asked_of_its_own_haystack(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    for more, of_the_assistant in ((), 0.0), (("--assistant",), 1.0):
        printed = _longmemeval(tmp_path, BOTH, *more, "--json", out)
        found = json.loads(out.read_text("utf-8"))["session_level"]
        assert {name: (one["questions"], one["all@5"]) for name, one in found.items()} == {
            "overall": (2, (1 + of_the_assistant) / 2),
            "single-session-assistant": (1, of_the_assistant),
            "single-session-user": (1, 1.0),
        }
        assert "session level.single-session-user" in printed
    assert "questions 1" in _longmemeval(tmp_path, BOTH, "--limit", "1")


@pytest.mark.parametrize(
    ("instances", "says"),
    [
        ({}, "longmemeval_s.json: should be a list of questions"),
        ([7], "question 1: 'question_id' should be a str, is None"),
        ([BOTH[1]], "no question has an answer"),
        ([GOOD | {"question": None}], "question 1 (q1): 'question' should be a str, is None"),
        ([GOOD | {"answer_session_ids": []}], "question 1 (q1): 'answer_session_ids' is empty"),
        ([GOOD | {"haystack_dates": []}], "3 haystack_session_ids, 0 haystack_dates, 3 haystack_"),
        ([GOOD | {"haystack_dates": ["May"] * 3}], "(q1): session 1: 'May' is no date like"),
        ([GOOD | {"question_date": "May"}], "question 1 (q1): 'May' is no date like"),
        ([GOOD | {"haystack_sessions": [[], [], 5]}], "session 3: should be a list of turns, is 5"),
        (
            [GOOD, GOOD | {"haystack_sessions": [[], [{"role": "user"}], []]}],
            "question 2 (q1): session 2, turn 1: 'content' should be a str, is None",
        ),
        ([GOOD | {"haystack_sessions": [[], [], []]}], "its haystack has no words of user"),
    ],
)
def test_what_is_wrong_with_a_file_of_longmemeval_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], instances: Any, says: str
) -> None:
    with pytest.raises(SystemExit):
        _longmemeval(tmp_path, instances)
    assert says in capsys.readouterr().err


def test_a_file_that_is_no_json_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "half.json").write_text('[{"question_id": ', "utf-8")
    for name, says in (("half.json", "Expecting value"), ("none.json", "No such file")):
        with pytest.raises(SystemExit):
            benchmarks.play("longmemeval.py", tmp_path / name)
        told = capsys.readouterr().err
        assert f"{name}: " in told
        assert says in told
