"""What the outcomes of a call are called, in English: a model reads it, whoever its person is. In
the catalogue each would need a Chinese twin that nobody reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..models.tasks import TaskFate
from ..primer.models import PrimerPart

FATES: Final[Mapping[TaskFate, str]] = {
    "unknown": "no such task",
    "several": "more than one task holds these words; use an id from the list",
    "elsewhere": "it stands elsewhere, read only here",
}
"""The other fates are called as they are."""
PARTS: Final[Mapping[PrimerPart, str]] = {
    PrimerPart.CONSTITUTION: "Rules that people wrote",
    PrimerPart.RULES: "Standing instructions",
    PrimerPart.OWNER: "From the owner",
    PrimerPart.PEOPLE: "People",
    PrimerPart.TASKS: "Open tasks",
    PrimerPart.DAYS: "The last days",
}
