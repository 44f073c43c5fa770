"""What became of a decision, for a person at the command line or in chat. Pure."""

from __future__ import annotations

import re
from typing import Final

from ...models.data_models import Refused, shown_day
from ...models.decisions import DecisionItem, Draft, Recorded, record_name
from ...text.refusal_words import refusal_words
from ...text.safe_text import safe
from ...texts import Texts

_DIGEST: Final = re.compile(r" · [^·\n]*sha256:\w+$", re.MULTILINE)


def item_line(texts: Texts, item: DecisionItem) -> str:
    """Returns a proposal or a record as a line: what names it, its state, day, words and place."""
    name = record_name(item.number) if item.number else item.memory_id
    day = shown_day(item.at, "") if item.at else ""
    place = f"{item.file}:{item.line}" if item.file else item.memory_id if item.number else ""
    state, title = texts.say(f"decision_state.{item.state}"), safe(item.title)
    line = "  ".join(filter(None, (name, state, day, title)))
    if about := " ".join(filter(None, (item.reference.issue, item.reference.pr, place))):
        line += texts.say("decision.about", about=about)
    if item.number and not item.file:
        line += texts.say("decision.here" if item.here else "decision.not_in_files")
    return line


def outcome_words(texts: Texts, outcome: Draft | Recorded | Refused) -> str:
    """Returns what was done, or why nothing was. Of a draft, its head and the text,
    without the digest that names its proposal."""
    match outcome:
        case Draft(text, file=file):
            changed = texts.say("decision.changed") if outcome.outdated else ""
            words = _DIGEST.sub("", text)
            if file is None:
                return texts.say("decision.draft_here", changed=changed, text=words)
            return texts.say("decision.draft", changed=changed, file=file.path, text=words)
        case Recorded(0):
            return texts.say("decision.turned_down")
        case Recorded(number, again=again):
            code = "decision.recorded_before" if again else "decision.recorded"
            return texts.say(code, name=record_name(number))
        case Refused():
            return texts.said(refusal_words(outcome))
