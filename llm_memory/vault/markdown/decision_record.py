"""Records of decisions, as they are appended to a file of ``shared/`` that people edit too. Pure.

```
## D-0007 检索面用 PostgreSQL
> 已接受 · 2026-11-23T12:40:00+08:00 · 接受：小明 · Issue：#12 · 取代：D-0003 · 提案：sha256:1f0c4e

连接池已经有了，不必再加一套。
```

No text of a record forges, hides or cuts another one: see ``appended_block``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ...models.data_models import moment_in
from ...models.decisions import DecisionState, Reference, record_name
from ...text.normalising import clean, one_line
from .appended_block import body_lines, inline
from .blocks import Kind, blocks_of, lines_of
from .escaping import unescape

LONGEST_TITLE = 120
"""Characters of a judgment that stand in the heading."""
_NUMBER = r"D-(\d{4,9})(?!\d)"
_HEADING = re.compile(rf"## {_NUMBER}(?:[ \t]+(.*))?")
_MENTIONED = re.compile(rf"^[ \t]*#{{1,6}}[ \t]+{_NUMBER}", re.MULTILINE)
_SEPARATOR = " · "
_NAMES = {
    "by": ("接受", "By"),
    "issue": ("Issue", "Issue"),
    "pr": ("PR", "PR"),
    "supersedes": ("取代", "Supersedes"),
    "withdraws": ("撤回", "Withdraws"),
    "proposal": ("提案", "Proposal"),
}
"""A part's name in Chinese and in English."""
_FIELD = {name: part for part, names in _NAMES.items() for name in names}
_STATES = {
    "accepted": ("已接受", "Accepted"),
    "withdrawn": ("已撤回", "Withdrawn"),
}
_PIECE = re.compile(r"\s*([^：:]+?)\s*[：:]\s*(.*?)\s*")
_SETTLED = re.compile(_NUMBER)
_SENTENCE_END = re.compile(r"[。！？!?；;]|[.](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Record:
    """A record. ``supersedes`` and ``withdraws`` are the number of an earlier one, 0 for none;
    ``proposal`` is the key of what was proposed. ``at`` is None where a person removed it."""

    number: int
    title: str
    at: datetime | None
    by: str = ""
    reference: Reference = field(default_factory=Reference)
    supersedes: int = 0
    withdraws: int = 0
    proposal: str = ""
    body: str = ""


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record, and the lines of the file that it takes, from 1."""

    record: Record
    first: int
    last: int


def title_and_body(judgment: str, reasoning: str) -> tuple[str, str]:
    """Returns a proposal's words for a record. A long judgment begins the body, whole, and its
    beginning is the title."""
    line = one_line(clean(judgment))
    body = clean(reasoning)
    if len(line) <= LONGEST_TITLE:
        return line, body
    beginning = line[: LONGEST_TITLE - 1]
    ends = [found.end() for found in _SENTENCE_END.finditer(beginning)]
    title = beginning[: ends[-1]] if ends else beginning + "…"
    return title, "\n\n".join(filter(None, (clean(judgment), body)))


def render(record: Record, *, english: bool = False, newline: str = "\n") -> str:
    """Returns the record's text, its last line end included."""
    state = "withdrawn" if record.withdraws else "accepted"
    parts = {
        "by": record.by,
        "issue": record.reference.issue,
        "pr": record.reference.pr,
        "supersedes": record_name(record.supersedes) if record.supersedes else "",
        "withdraws": record_name(record.withdraws) if record.withdraws else "",
        "proposal": record.proposal,
    }
    colon = ": " if english else "："
    pieces = [
        _STATES[state][english],
        record.at.isoformat() if record.at else "",
        *(f"{_NAMES[part][english]}{colon}{inline(said)}" for part, said in parts.items() if said),
    ]
    title = inline(record.title)
    lines = [
        f"## {record_name(record.number)} {title}".rstrip(),
        f"> {_SEPARATOR.join(filter(None, pieces))}",
    ]
    if body := body_lines(record.body):
        lines += ["", *body]
    return newline.join((*lines, ""))


def records_of(text: str) -> tuple[FoundRecord, ...]:
    """Returns the records of a file, in its order. A number that stands twice is found twice."""
    lines = lines_of(text)
    headings = [block for block in blocks_of(lines) if block.kind is Kind.HEADING]
    found = []
    for place, block in enumerate(headings):
        heading = _HEADING.fullmatch(lines[block.start])
        if heading is None:
            continue
        following = (other.start for other in headings[place + 1 :] if other.level <= block.level)
        end = next(following, len(lines))
        record = _parse(int(heading[1]), heading[2] or "", lines[block.end : end])
        found.append(FoundRecord(record, block.start + 1, end))
    return tuple(found)


def _parse(number: int, title: str, lines: tuple[str, ...]) -> Record:
    rows = 1 if lines and lines[0].startswith(">") else 0
    said = {"by": "", "issue": "", "pr": "", "supersedes": "", "withdraws": "", "proposal": ""}
    at = None
    for piece in lines[0][1:].split(_SEPARATOR) if rows else ():
        named = _PIECE.fullmatch(piece)
        if named is not None and (part := _FIELD.get(named[1])) is not None:
            said[part] = unescape(named[2])
        elif at is None:
            at = moment_in(piece.strip())
    return Record(
        number=number,
        title=unescape(title.strip()),
        at=at,
        by=said["by"],
        reference=Reference(said["issue"], said["pr"]),
        supersedes=_number(said["supersedes"]),
        withdraws=_number(said["withdraws"]),
        proposal=said["proposal"],
        body=unescape("\n".join(lines[rows:]).strip()),
    )


def number_of(title: str) -> int:
    """Returns the number that a heading's title begins with, 0 for none."""
    found = _SETTLED.match(title)
    return int(found[1]) if found else 0


def _number(text: str) -> int:
    found = _SETTLED.fullmatch(text)
    return int(found[1]) if found else 0


def numbers_in(text: str) -> set[int]:
    """Returns the numbers that any heading has, also one inside a fence or a comment: a number is
    never used again."""
    return {int(found[1]) for found in _MENTIONED.finditer(text)}


def settled_by(records: Iterable[Record]) -> Mapping[int, Record]:
    """Returns, by number, the record that supersedes or withdraws an earlier one."""
    settled: dict[int, Record] = {}
    for record in sorted(records, key=lambda one: one.number):
        for number in (record.supersedes, record.withdraws):
            if 0 < number < record.number:
                settled[number] = record
    return settled


def state_of(record: Record, settled: Mapping[int, Record]) -> DecisionState:
    """Returns whether a record is in force."""
    by = settled.get(record.number)
    if by is None:
        return "accepted"
    withdrawn = by.withdraws == record.number
    return "withdrawn" if withdrawn else "superseded"
