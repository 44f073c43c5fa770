"""The questions that a counted rule is tried with: built in, for its aim, and the owner's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, Literal

from ..models.soul import ProbeKind
from ..text.normalising import clean, one_line
from ..texts import Spoken
from .rules.answer_checks import CHECKS
from .rules.vocabulary import manner_of

MOST_OWN: Final = 12
LONGEST: Final = 300
"""Characters of an owner's probe."""
_LIST_LINE: Final = re.compile(r"[-*] +(\S.*)")


@dataclass(frozen=True, slots=True)
class Probe:
    """A question to the bot.

    Attributes:
        check: Tells of an answer, and of the system prompt that it was given under, whether it
            passes. Without one a judge compares two answers.
        hope: What the sender hopes for. The bot never sees it.
    """

    name: str
    kind: ProbeKind
    question: str
    check: partial[bool] | None = None
    hope: str = ""


@cache
def _data() -> Mapping[str, Any]:
    import yaml

    found: Mapping[str, Any] = yaml.safe_load(
        Path(__file__).with_name("probes.yaml").read_text(encoding="utf-8")
    )
    return found


def built_in(language: Spoken) -> tuple[Probe, ...]:
    """Returns the probes that have checkers. Reads the disk once."""
    return tuple(
        Probe(
            row["name"],
            row["kind"],
            row[language]["question"],
            partial(CHECKS[row["check"]], row[language].get("wants", [])),
        )
        for row in _data()["probes"]
    )


def aims_of(line: str, language: Spoken) -> tuple[Probe, ...]:
    """Returns the two probes for a rule of the vocabulary, none for any other."""
    manner = manner_of(line)
    asked = _data()["aims"][manner[0]][language] if manner else []
    return tuple(Probe(f"aim_{n}", "aim", one, hope=line) for n, one in enumerate(asked, 1))


def own_probes(text: str) -> tuple[Probe, ...]:
    """Returns the owner's of ``probes.md``: a list line each. Any other line is none."""
    lines = (_LIST_LINE.fullmatch(one_line(clean(line))) for line in text.splitlines())
    asked = dict.fromkeys(line[1] for line in lines if line is not None and len(line[1]) <= LONGEST)
    return tuple(Probe(f"own_{n}", "own", one) for n, one in enumerate([*asked][:MOST_OWN], 1))


def prompt(name: Literal["several", "judge"], language: Spoken) -> str:
    """Returns what a model is told."""
    return str(_data()["prompts"][name][language])
