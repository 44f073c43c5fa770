"""What the outcomes of a call are called, in English: a model reads it, whoever its person is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..models.data_models import Rejected, RejectReason
from ..models.roles import NoteFault
from ..models.tasks import TaskFate
from ..primer.models import PrimerPart

REFUSALS: Final[Mapping[RejectReason, str]] = {
    RejectReason.EMPTY: "there is nothing to remember in it",
    RejectReason.TOO_LONG: "too long: at most {detail} characters each, split it",
    RejectReason.TOO_SHORT: "too short: write a sentence that is understood on its own",
    RejectReason.FILLER: "only a courtesy or a reply, nothing to remember",
    RejectReason.CODE: "only code or data: say in a sentence what it is and what it is for",
    RejectReason.SPECULATION: "only a guess: log it once it is certain",
    RejectReason.PRIVATE: "it holds private data, which the settings do not let in",
    RejectReason.CONFIDENCE: "it is confidential, and others can read this place",
    RejectReason.READ_ONLY: "read only here; the owner has to map {conversation} in "
    "conversation_scope_map first",
    RejectReason.REFUSED: "the conversation is not known",
    RejectReason.LEARNING_PAUSED: "the scope filter is off; nothing is learned meanwhile",
    RejectReason.OFF_THE_RECORD: "off the record now: nothing is stored",
    RejectReason.CORRECTED: "it was forgotten or changed by a person since",
    RejectReason.UNKNOWN_SCOPE: "there is no such scope: {detail}",
    RejectReason.NOT_WRITTEN: "could not be written to disk ({detail})",
}
FATES: Final[Mapping[TaskFate, str]] = {
    TaskFate.UNKNOWN: "no such task, or several",
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
LEFT_OUT: Final[Mapping[str, str]] = {
    "private": "private data",
    "guess": "only a guess",
    "dispute": "not settled yet",
    "stale": "holds for a few days only",
}
"""By the reasons of ``LineLeftOut``."""
PARTS: Final[Mapping[PrimerPart, str]] = {
    PrimerPart.CONSTITUTION: "Rules that people wrote",
    PrimerPart.RULES: "Standing instructions",
    PrimerPart.OWNER: "From the owner",
    PrimerPart.PEOPLE: "People",
    PrimerPart.TASKS: "Open tasks",
    PrimerPart.DAYS: "The last days",
}


def refusal(rejected: Rejected, conversation: object) -> str:
    """Returns why nothing was stored."""
    return REFUSALS[rejected.reason].format(detail=rejected.detail, conversation=conversation)
