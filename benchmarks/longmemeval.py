"""LongMemEval-S at session level: does recall find the sessions that answer a question?

    python benchmarks/longmemeval.py FILE [--embedder lexical|bundled|NAME|PATH] [--assistant]
        [--limit N] [--json OUT]

FILE is ``longmemeval_s.json`` of github.com/xiaowu0162/LongMemEval. Each question is asked of a
store of its own: its haystack's user turns (``--assistant``: all turns), in one scope, dated as
their sessions are, with the clock at ``question_date``. Otherwise as in retrieval.py.

The figures are those of ``session_level`` there, by ``question_type``. Questions whose id ends in
``_abs`` have no answer in their haystack and are left out. An answer session that is not in the
haystack counts as not found. ``--limit`` takes N questions spread evenly over the file, which is
sorted by type.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import reprlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import checkout  # (both folders are made visible by the lines above)

checkout.register()

from embedders import embedder_name  # noqa: E402
from iso_dates import moment  # noqa: E402
from labelled import Library, Question  # noqa: E402
from labelled_rows import BadRows  # noqa: E402
from retrieval import sessions_found  # noqa: E402
from retrieval_run import BenchClock, Stuck, running, seconds_to_fill  # noqa: E402
from scores import session_level, session_scored  # noqa: E402
from table import table  # noqa: E402

_ABSTENTION = "_abs"
_WEEKDAY = re.compile(r"\s*\(\w+\)")


@dataclass(frozen=True, slots=True)
class Haystack:
    """A question, the turns to look for its answer in, and the sessions that hold it."""

    question: Question
    rows: list[dict[str, Any]]
    gold: frozenset[str]


def haystacks(path: Path, roles: tuple[str, ...]) -> list[Haystack]:
    """The questions that have an answer. Raises BadRows."""
    try:
        with path.open(encoding="utf-8") as file:
            loaded = json.load(file)
    except (OSError, ValueError) as error:
        raise BadRows(f"{path.name}: {error}") from error
    if not isinstance(loaded, list):
        raise BadRows(f"{path.name}: should be a list of questions")
    found = []
    for number, one in enumerate(loaded, start=1):
        where = f"{path.name}: question {number}"
        name = _field(one, "question_id", str, where)
        if not name.endswith(_ABSTENTION):
            found.append(_haystack(one, name, f"{where} ({name})", roles))
    if not found:
        raise BadRows(f"{path.name}: no question has an answer")
    return found


def _haystack(one: Any, name: str, where: str, roles: tuple[str, ...]) -> Haystack:
    fields = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
    columns = [_field(one, field, list, where) for field in fields]
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(f"{len(c)} {field}" for c, field in zip(columns, fields, strict=True))
        raise BadRows(f"{where}: {lengths}")
    rows = [
        {"id": f"{place}/{n}", "conv": name, "scope": str(session), "speaker": role, "text": text}
        | {"time": time}
        for place, (session, date, turns) in enumerate(zip(*columns, strict=True), start=1)
        for time in (_time(date, f"{where}: session {place}"),)
        for n, role, text in _turns(turns, f"{where}: session {place}")
        if role in roles and text.strip()
    ]
    if not rows:
        raise BadRows(f"{where}: its haystack has no words of {' or '.join(roles)}")
    gold = frozenset(map(str, _field(one, "answer_session_ids", list, where)))
    if not gold:
        raise BadRows(f"{where}: 'answer_session_ids' is empty")
    asked = {
        "id": name,
        "conv": name,
        "lang": "en",
        "question": _field(one, "question", str, where),
        "gold_ids": [],
        "category": _field(one, "question_type", str, where),
        "time": _time(_field(one, "question_date", str, where), where),
    }
    return Haystack(Question.read(asked), rows, gold)


def _turns(turns: Any, where: str) -> list[tuple[int, str, str]]:
    if not isinstance(turns, list):
        raise BadRows(f"{where}: should be a list of turns, is {reprlib.repr(turns)}")
    places = ((n, turn, f"{where}, turn {n}") for n, turn in enumerate(turns, start=1))
    return [
        (n, _field(turn, "role", str, at), _field(turn, "content", str, at))
        for n, turn, at in places
    ]


def _field[T](one: Any, name: str, kind: type[T], where: str) -> T:
    value = one.get(name) if isinstance(one, dict) else None
    if not isinstance(value, kind):
        raise BadRows(f"{where}: {name!r} should be a {kind.__name__}, is {reprlib.repr(value)}")
    return value


def _time(text: Any, where: str) -> str:
    """ISO 8601 of ``2023/05/20 (Sat) 02:21``."""
    try:
        return moment(_WEEKDAY.sub("", text).replace("/", "-")).isoformat()
    except (TypeError, ValueError) as error:
        raise BadRows(f"{where}: {text!r} is no date like '2023/05/20 (Sat) 02:21'") from error


async def measure(asked: list[Haystack], embedder: str | None) -> dict[str, Any]:
    """Each question in a store that is gone afterwards."""
    results = []
    for number, one in enumerate(asked, start=1):
        library, clock = Library.read(one.rows), BenchClock()
        with tempfile.TemporaryDirectory(prefix="longmemeval-") as folder:
            library.write_vault(Path(folder) / "memory")
            async with running(Path(folder), library, clock, embedder, floor=0.0) as engine:
                await seconds_to_fill(engine)
                found = await sessions_found(engine, clock, library, one.question)
        results.append((one.question.category, session_scored(found, one.gold)))
        sys.stderr.write(f"\r{number}/{len(asked)} questions")
    sys.stderr.write("\n")
    return session_level(results)


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--embedder", type=embedder_name, help="lexical, bundled, or a model's folder or name"
    )
    parser.add_argument("--assistant", action="store_true", help="the assistant's turns, too")
    parser.add_argument("--limit", type=_positive, help="so many questions, spread over the file")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    roles = ("user", "assistant") if options.assistant else ("user",)
    try:
        asked = haystacks(options.file, roles)
        count = min(options.limit or len(asked), len(asked))
        spread = [asked[n * len(asked) // count] for n in range(count)]
        report = {"session_level": asyncio.run(measure(spread, options.embedder))}
    except BadRows as error:
        parser.exit(2, f"{error}\n")
    except Stuck as error:
        parser.exit(1, f"{error}\n")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    sys.stdout.write(table({"session level": report["session_level"]}))


if __name__ == "__main__":
    main()
