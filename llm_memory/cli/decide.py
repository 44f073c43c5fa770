"""``decide``: the owner reads what is proposed and decided, and decides."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace

from ..catalogue.rules.decision_words import item_line, outcome_words
from ..models.data_models import Refused
from ..models.decisions import (
    DecisionChange,
    DecisionItem,
    DecisionOutcome,
    Decisions,
    Draft,
    RecordFile,
    Reference,
    record_name,
)
from .home_flags import wants_json
from .messages import DONE, FAILED, fail, say, show, show_json, shown, texts
from .owner_levels import OwnerLevel, asked, memory_id_of


def decide(args: argparse.Namespace) -> int:
    """Carry out one of the actions. Raises HomeError."""
    change = _change(args)
    outcome = asked(args, lambda levels: _decided(levels, change))
    if isinstance(outcome, Decisions):
        return _listed(args, outcome)
    code = FAILED if isinstance(outcome, Draft | Refused) else DONE
    if wants_json(args):
        show_json({"code": code, "outcome": type(outcome).__name__, **asdict(outcome)})
        return code
    said = shown(outcome_words(texts(), outcome))
    if isinstance(outcome, Refused):
        show(said, failed=True)
        if outcome.objections:
            fail("records.anyway")
        return code
    show(said)
    if isinstance(outcome, Draft):
        fail("records.yes")
    return code


def _change(args: argparse.Namespace) -> DecisionChange:
    match args.action:
        case "list":
            return DecisionChange("list", everything=args.all)
        case "reject":
            return DecisionChange("reject", memory_id_of(args.id), why=args.why)
        case "withdraw":
            asked = DecisionChange("withdraw", number=args.number, why=args.why)
        case _:
            asked = DecisionChange(
                "accept",
                memory_id_of(args.id),
                getattr(args, "number", 0),
                reference=Reference(args.issue, args.pr),
                to=RecordFile(args.to),
                anyway=args.anyway,
            )
    return replace(asked, by=args.by, unseen=args.yes)


async def _decided(levels: Sequence[OwnerLevel], change: DecisionChange) -> DecisionOutcome:
    """A project's own store has its own decisions; else those of the home hold, and what was
    proposed outside any project is decided here, too."""
    here, *others = levels[:1] if levels[0].level.own_store else levels
    outcome = await here.owner.decide(change, conversation_id=here.level.conversation)
    for one in others:
        if isinstance(outcome, Refused) and outcome.reason == "no_proposal":
            outcome = await one.owner.decide(change, conversation_id=one.level.conversation)
    return outcome


def _listed(args: argparse.Namespace, found: Decisions) -> int:
    if wants_json(args):
        show_json([_as_json(item) for item in found.items])
        return DONE
    for item in found.items:
        show(shown(item_line(texts(), item)))
    if not found.items:
        say("decide.none")
    return DONE


def _as_json(item: DecisionItem) -> dict[str, object]:
    """Returns what scripts read: null where there is none."""
    return {
        "id": item.memory_id or None,
        "state": item.state,
        "number": record_name(item.number) if item.number else None,
        "title": item.title,
        "at": item.at and item.at.isoformat(),
        "issue": item.reference.issue or None,
        "pr": item.reference.pr or None,
        "file": item.file or None,
        "line": item.line or None,
        "supersedes": record_name(item.supersedes) if item.supersedes else None,
    }
