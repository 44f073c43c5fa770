"""benchmarks/everyday.py on a cast of a few lines, and the casts that are published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.tests.support import benchmarks

ROOT = Path(__file__).resolve().parents[2]
EVERYDAY_CAST = benchmarks.module("everyday_cast")
CASTS = sorted((ROOT / "benchmarks" / "casts").glob("*.json"))
pytestmark = pytest.mark.timeout(240)


def _talk(at: str, where: str, said: str, *learned: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"at": at, "who": "阿珍", "where": where, "said": said, "learned": list(learned), **more}


SMALL: dict[str, Any] = {
    "language": "zh",
    "start": "2026-03-02",
    "end": "2026-03-12",
    "timezone": "Asia/Shanghai",
    "people": [{"name": "阿珍", "id": 1, "admin": True}, {"name": "老周", "id": 2}],
    "places": {
        "家": {"kind": "group", "id": 7, "scope": "家人"},
        "街": {"kind": "group", "id": 8},
    },
    "talk": [
        _talk("2026-03-02T09:00", "家", "梯子锁在车棚里", {"judgment": "梯子锁在车棚里"}),
        _talk(
            "2026-03-03T09:00",
            "家",
            "梯子现在锁在地下室了",
            {"judgment": "梯子改锁在地下室", "replaces": "梯子锁在车棚"},
        ),
        _talk("2026-03-03T10:00", "家", "哈哈哈", small_talk=True),
        _talk("2026-03-04T09:00", "家", "梯子锁在哪里来着？"),
    ],
    "questions": [
        {
            "who": "老周",
            "where": "家",
            "original": "梯子锁在哪里",
            "paraphrase": "登高用的那个东西收在哪",
            "must": ["地下室"],
            "must_not": ["车棚"],
        }
    ],
    "unrelated": ["法国的首都是哪里"],
    "secrets": [{"said_by": "阿珍", "words": "地下室", "never_in": ["街"]}],
}

SHORT = SMALL | {"end": "2026-03-05"}
"""Each day costs the same, whatever is said."""


def _played(cast: dict[str, Any], folder: Path) -> dict[str, Any]:
    source, target = folder / "cast.json", folder / "figures.json"
    source.write_text(json.dumps(cast, ensure_ascii=False), "utf-8")
    benchmarks.play("everyday.py", "--cast", source, "--json", target)
    figures: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return figures


def test_what_was_said_is_known_and_told_in_no_other_place(tmp_path: Path) -> None:
    figures = _played(SMALL, tmp_path)
    assert (figures["questions"], figures["original"]) == (1, 1)
    assert (figures["silent"], figures["secrets_told"]) == (1.0, 0)
    assert figures["reader_calls"] > 0
    assert figures["reader_tokens"] > figures["reader_calls"]
    assert figures["reader_calls_per_100_turns"] == pytest.approx(
        100 * figures["reader_calls"] / figures["turns"], abs=0.1
    )
    assert 0 < figures["injected_tokens_per_question"] <= 200


@pytest.mark.parametrize("said_by", [{"said_by": "阿珍"}, {}], ids=["its own", "nobody's"])
def test_a_secret_is_counted_where_it_is_named(tmp_path: Path, said_by: dict[str, str]) -> None:
    secret = {"words": "地下室", "never_in": ["家"], **said_by}
    assert _played(SHORT | {"secrets": [secret]}, tmp_path)["secrets_told"] > 0


@pytest.mark.parametrize("path", CASTS, ids=lambda path: path.stem)
def test_a_published_cast_is_whole(path: Path) -> None:
    cast = EVERYDAY_CAST.read_cast(path)
    said = "\n".join(one.said for one in cast.talk)
    learned = "\n".join(lesson["judgment"] for one in cast.talk for lesson in one.learned)
    assert len(cast.questions) >= 20
    assert len(cast.unrelated) >= 12
    for question in cast.questions:
        assert all(word in learned for word in question.must), question
    for secret in cast.secrets:
        assert secret.words in said + learned, secret


def test_a_cast_with_the_least_that_can_be_played_is_read() -> None:
    said: list[str] = []
    raw = {
        "timezone": "Europe/Berlin",
        "people": [{"name": "Ida", "id": "007", "mood": "good"}],
        "places": {"alone": {"kind": "private", "id": 7}},
        "talk": [
            {"at": "2026-03-02 09:00:30", "who": "Ida", "where": "alone", "said": "hi"},
            {"at": "2026-03-01T23:30:00Z", "who": "Ida", "where": "alone", "said": "early"},
        ],
        "questions": [{"who": "Ida", "where": "alone", "original": "when?", "must": "early"}],
    }
    cast = EVERYDAY_CAST.parse_cast(raw, warn=said.append)
    assert [one.said for one in cast.talk] == ["early", "hi"]
    assert cast.talk[0].at.isoformat() == "2026-03-02T00:30:00+01:00"
    assert (cast.start, cast.end) == (cast.talk[0].at, cast.talk[1].at)
    assert cast.questions[0].must == ("early",)
    assert cast.questions[0].paraphrase == "when?"
    assert cast.people["Ida"].person == "aiocqhttp:007"
    assert cast.places["alone"].where.umo == "aiocqhttp:FriendMessage:7"
    assert said == ["cast: people 1: 'mood' is not known and was ignored"]


def test_what_stands_empty_in_a_cast_is_not_there() -> None:
    talk = {"at": "2026/3/1 10:00", "who": "阿珍", "where": "家", "said": "hi", "reply": ""}
    late = talk | {"at": "2026-03-01T24:00", "learned": [{"judgment": "x", "replaces": ""}]}
    secret = {"said_by": "", "words": "地下室", "never_in": ["家"]}
    places = [{"name": "家", "kind": "group", "id": 7, "scope": ""}]
    question = {"who": "阿珍", "where": "家", "original": "x", "paraphrase": "", "must": []}
    raw = SMALL | {"talk": [talk, late], "secrets": [secret], "places": places}
    said: list[str] = []
    cast = EVERYDAY_CAST.parse_cast(raw | {"questions": [question]}, warn=said.append)
    moments = [f"{one.at:%m-%d %H:%M}" for one in cast.talk]
    assert moments == ["03-01 10:00", "03-02 00:00"]
    assert (cast.talk[0].reply, cast.places["家"].scope) == ("", "")
    assert (cast.questions[0].paraphrase, cast.secrets[0].said_by) == ("x", "")
    assert [text for text in said if "must" in text]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"talk": [{"at": "someday", "who": "阿珍", "where": "家", "said": "x"}]}, "talk 1: 'at'"),
        (
            {"talk": [{"at": "2026-03-02", "who": "谁", "where": "家", "said": "x"}]},
            "nobody called",
        ),
        ({"places": {"家": {"kind": "room", "id": 7}}}, "places 家: 'kind'"),
        ({"people": [{"name": "阿珍"}]}, "people 1: 'id'"),
        ({"timezone": "Mars/Base"}, "no time zone 'Mars/Base'"),
        ({"secrets": [{"words": "x", "never_in": ["月球"]}]}, "no place '月球'"),
        ({"secrets": [{"said_by": "谁", "words": "x", "never_in": []}]}, "nobody called '谁'"),
        ({"people": [{"name": "阿珍", "id": 1}, {"name": "阿珍", "id": 2}]}, "two people"),
        ({"people": [{"name": "阿珍", "id": 1, "admin": "false"}]}, "'admin' should be true or"),
        ({"places": ["家"]}, "each of 'places' should be an object with a 'name'"),
        ({"places": {"家": {"kind": "group", "id": 7, "scope": "a/b"}}}, "no legal name: 'a/b'"),
    ],
)
def test_what_is_wrong_with_a_cast_is_said(change: dict[str, Any], says: str) -> None:
    with pytest.raises(EVERYDAY_CAST.BadCast, match=says):
        EVERYDAY_CAST.parse_cast(SMALL | change)
