"""The rows of a corpus and its questions, read from files: an error says which row, and what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from iso_dates import moment


class BadRows(ValueError):
    """A file that cannot be measured: which row, and what is wrong with it."""


def rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file. Raises BadRows."""
    found = []
    try:
        # Not splitlines(): a text may hold a line end of Unicode's own.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
        for number, line in enumerate(lines, start=1):
            if line.strip():
                found.append(json.loads(line))
                if not isinstance(found[-1], dict):
                    raise BadRows(f"{path.name}: line {number}: should be an object")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRows(f"{path.name}: {error}") from error
    except json.JSONDecodeError as error:
        raise BadRows(f"{path.name}: line {number}: {error}") from error
    return found


def corpus_rows(path: Path) -> list[dict[str, Any]]:
    """``{id, conv, text}``, and as far as they are there ``speaker``, ``scope``, ``time``. Raises
    BadRows."""
    return [_corpus_row(row, f"{path.name}: row {n}") for n, row in enumerate(rows(path), start=1)]


def question_rows(path: Path, corpus: list[dict[str, Any]], language: str) -> list[dict[str, Any]]:
    """Those of a language: ``{id, conv, lang, question, gold_ids}``, and what else there is. Raises
    BadRows."""
    known = {row["conv"] for row in corpus}
    found = []
    for number, row in enumerate(rows(path), start=1):
        where = f"{path.name}: row {number}"
        if _words(row, "lang", where) == language:
            found.append(_question_row(row, where))
            if found[-1]["conv"] not in known:
                raise BadRows(f"{where}: nothing is in the corpus of {found[-1]['conv']!r}")
    if not found:
        raise BadRows(f"{path.name}: no question has 'lang' {language!r}")
    return found


def _corpus_row(row: dict[str, Any], where: str) -> dict[str, Any]:
    if row.get("time"):
        _moment(row, where)
    optional = {name: _words(row, name, where, "") for name in ("speaker", "scope")}
    return row | optional | {name: _words(row, name, where) for name in ("id", "conv", "text")}


def _question_row(row: dict[str, Any], where: str) -> dict[str, Any]:
    gold = row.get("gold_ids")
    if not isinstance(gold, list):
        raise BadRows(f"{where}: 'gold_ids' should be a list, is {gold!r}")
    if row.get("time"):
        _moment(row, where)
    needed = {name: _words(row, name, where) for name in ("id", "conv", "question")}
    return row | needed | {"gold_ids": [str(one) for one in gold]}


def _moment(row: dict[str, Any], where: str) -> None:
    try:
        moment(_words(row, "time", where))
    except BadRows:
        raise
    except ValueError as error:
        raise BadRows(f"{where}: 'time' is no date of ISO 8601: {row['time']!r}") from error


def _words(row: dict[str, Any], name: str, where: str, default: str | None = None) -> str:
    """A number is taken for its digits."""
    value = row.get(name)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadRows(f"{where}: {name!r} should be words, is {value!r}")
    return str(value)
