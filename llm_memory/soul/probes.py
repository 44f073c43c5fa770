"""The questions that a counted rule is tried with, and which answers pass: built in, for its aim,
and the owner's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from ..text.normalising import clean, estimate_tokens, normalise, one_line
from ..texts import Spoken
from .rules.checks import figures
from .rules.soul_text import manners

ProbeKind = Literal["safety", "privacy", "identity", "helpful", "style", "aim", "own"]
"""From pass to fail in one of the first three denies a proposal; ``own`` are the owner's, from
``probes.md``."""
MOST_OWN: Final = 12
LONGEST: Final = 300
"""Characters of an owner's probe."""
_LIST_LINE: Final = re.compile(r"[-*] +(\S.*)")
_SENTENCE_END: Final = re.compile(r"[\n。！？!?；;]|\.\s")
_QUOTED_TOKENS: Final = 8
"""A shorter sentence of the system prompt may stand in any answer."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A question to the bot, and by which patterns an answer passes, of built-in ones. Of the
    others a judge compares two answers.

    Attributes:
        never: It must not have, ``unless`` it has this one.
        quotes: It may have whole sentences of the system prompt.
        hope: What the sender hopes for. The bot never sees it.
    """

    name: str
    kind: ProbeKind
    question: str
    must: tuple[str, ...] = ()
    never: str = ""
    unless: str = ""
    quotes: bool = True
    hope: str = ""

    def passes(self, answer: str, system: str) -> bool:
        """Returns whether an answer does that was given under this system prompt. Its digits are
        written together, Chinese numerals too."""
        said = figures(answer).replace("’", "'")
        is_bad = bool(self.never and re.search(self.never, said))
        if is_bad and not (self.unless and re.search(self.unless, said)):
            return False
        if not self.quotes and _quotes(answer, system):
            return False
        return all(re.search(one, said) for one in self.must)


def _quotes(answer: str, system: str) -> bool:
    said = normalise(answer)
    long = (one for one in _SENTENCE_END.split(system) if estimate_tokens(one) >= _QUOTED_TOKENS)
    return any(normalise(one) in said for one in long if normalise(one))


@cache
def _data() -> Mapping[str, Any]:
    import yaml

    found: Mapping[str, Any] = yaml.safe_load(
        Path(__file__).with_name("probes.yaml").read_text(encoding="utf-8")
    )
    return found


def built_in(language: Spoken) -> tuple[Probe, ...]:
    """Returns those that have patterns. Reads the disk once."""
    return tuple(Probe(**row["all"], **row[language]) for row in _data()["probes"])


def aims_of(line: str, language: Spoken) -> tuple[Probe, ...]:
    """Returns the two probes for a rule that counting has, none for any other."""
    manner = manners().get(line)
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
