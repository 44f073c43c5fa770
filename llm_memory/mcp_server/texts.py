"""What the outcomes of a call are called, in English: a model reads it, whoever its person is. In
the catalogue each would need a Chinese twin that nobody reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..models.roles import NoteFault
from ..models.tasks import TaskFate
from ..primer.models import PrimerPart

FATES: Final[Mapping[TaskFate, str]] = {
    TaskFate.UNKNOWN: "no such task",
    TaskFate.SEVERAL: "more than one task holds these words; use an id from the list",
    TaskFate.ELSEWHERE: "it stands elsewhere, read only here",
}
"""The other fates are called as they are."""
NOTE_FAULTS: Final[Mapping[NoteFault, str]] = {
    NoteFault.TOO_LONG: "too long: at most {detail} characters",
    NoteFault.LINK: "not written: a link or a file with a second name stands in its place",
    NoteFault.NOT_TEXT: "not written: the day's file is not UTF-8",
    NoteFault.OPEN_FENCE: "not written: a code block or comment is not closed in the day's file, "
    "line {detail}",
    NoteFault.BUSY: "not written: other programs keep writing the day's file",
    NoteFault.DISK: "could not be written to disk ({detail})",
}
PARTS: Final[Mapping[PrimerPart, str]] = {
    PrimerPart.CONSTITUTION: "Rules that people wrote",
    PrimerPart.RULES: "Standing instructions",
    PrimerPart.OWNER: "From the owner",
    PrimerPart.PEOPLE: "People",
    PrimerPart.TASKS: "Open tasks",
    PrimerPart.DAYS: "The last days",
}
