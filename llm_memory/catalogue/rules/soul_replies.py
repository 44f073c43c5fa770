"""What a person asks of a soul and what became of it, at the command line or in chat: short enough
for a phone. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, get_args

from ...models.data_models import NO_TIME, Refused, shown_day
from ...models.scope import NO_PERSONA, persona_of
from ...models.soul import (
    EVALUATION,
    OWNER,
    REFLECTION,
    SEEDED_BY,
    Finding,
    SoulAction,
    SoulChanged,
    SoulDenied,
    SoulDiff,
    SoulLine,
    SoulLog,
    SoulOutcome,
    SoulRequest,
    SoulVerified,
    SoulView,
)
from ...models.vault_layout import SOUL_CHAIN, SOUL_PAGE
from ...text.refusal_words import refusal_words
from ...text.safe_text import cut, safe
from ...texts import Texts

type How = Callable[[str], str]
"""Returns what a person writes for an action, such as ``apply 7``."""

ACTIONS: Final[tuple[SoulAction, ...]] = get_args(SoulAction)
_NUMBERED: Final = ("apply", "veto", "undo", "diff")
_ACTORS: Final = {
    REFLECTION: "reflection",
    OWNER: "owner",
    EVALUATION: "evaluation",
    SEEDED_BY: "plugin",
}
_NUMBER: Final = re.compile(r"(?:#|第)?\s*(\d{1,9})\s*[版号號]?")
_RULES: Final = 5
_RULE: Final = 60
_FINDINGS: Final = 5
_DIFF: Final = 30


def request_of(action: str, words: str) -> SoulRequest | None:
    """Returns what is asked for by one of ``ACTIONS``, empty for ``show``, and the words behind it;
    None for words that ask for nothing."""
    asked = next((one for one in ACTIONS if one == (action or "show")), None)
    if asked is None:
        return None
    if asked == "propose":
        return SoulRequest(asked, wish=words) if words else None
    if asked in _NUMBERED:
        number = _NUMBER.fullmatch(words or "0")
        return SoulRequest(asked, int(number[1])) if number else None
    return None if words else SoulRequest(asked)


def persona_words(texts: Texts, folder: str) -> str:
    """Returns what a persona is called, by the folder of its soul."""
    if folder == NO_PERSONA:
        return texts.say("soul_view.no_persona")
    return texts.say("soul_view.persona", role=safe(persona_of(folder) or folder))


def view_words(texts: Texts, view: SoulView, how: How, *, all_of_it: bool, off: bool) -> str:
    """Returns what is in force; with ``all_of_it``, which is for admins, also what waits and what
    is wrong. At most 13 lines. ``off``: the setting is, so nothing of it is injected."""
    say, number = texts.say, view.version
    day, who = (
        shown_day(view.line.at if view.line else NO_TIME, say("inject.undated")),
        persona_words(texts, view.role),
    )
    version = "version" if number else "no_version"
    lines = [say(f"soul_view.{version}", who=who, number=number, day=day)]
    lines += [f"- {cut(rule, _RULE)}" for rule in view.rules[:_RULES]]
    if (more := len(view.rules) - _RULES) > 0:
        lines.append(say("soul_view.more_rules", count=more))
    if number and not view.rules:
        lines.append(say("soul_view.nothing"))
    if off:
        lines.append(say("soul_view.off"))
    return "\n".join(lines + (_waiting(texts, view, how) if all_of_it else []))


def _waiting(texts: Texts, view: SoulView, how: How) -> list[str]:
    """At most five lines."""
    say = texts.say
    lines = []
    if view.broken:
        lines.append(say("reject.broken", detail=view.broken))
        lines.append(say("soul_view.check", verify=how("verify")))
    if view.by_hand:
        lines.append(say("soul_view.edited", adopt=how("adopt"), discard=how("discard")))
    if (waits := view.open) is not None:
        lines.append(say("soul_view.open", number=waits.proposal, aim=cut(waits.aim, _RULE)))
        lines.append(_next(texts, how, waits.proposal))
    return lines


def _next(texts: Texts, how: How, number: int) -> str:
    apply, veto = how(f"apply {number}"), how(f"veto {number}")
    return texts.say("soul_view.next", diff=how("diff"), apply=apply, veto=veto)


def outcome_words(texts: Texts, outcome: SoulOutcome, how: How, *, most: int = 0) -> str:
    """Returns what was done, or why nothing was. Of a view, what an admin sees. ``most``: lines of
    a log, 0 for all."""
    say = texts.say
    match outcome:
        case SoulView():
            return view_words(texts, outcome, how, all_of_it=True, off=False)
        case SoulDiff():
            return "\n".join(_diff(texts, outcome, how))
        case SoulChanged(SoulLine("discarded", n=number)):
            return say("soul_view.discarded", line=number)
        case SoulChanged(SoulLine("vetoed", version=0, proposal=number)):
            return say("soul_view.vetoed", number=number)
        case SoulChanged():
            return "\n".join(_changed(texts, outcome, how))
        case SoulLog(lines, broken):
            return "\n".join(_log(texts, lines, broken, most))
        case SoulVerified():
            return _verified(texts, outcome)
        case Refused():
            return "\n".join(_refused(texts, outcome))


def _changed(texts: Texts, changed: SoulChanged, how: How) -> list[str]:
    event = texts.say(f"soul_event.{changed.line.event}")
    lines = [texts.say("soul_view.changed", event=event, number=changed.line.version)]
    old, new = changed.before.splitlines(), changed.text.splitlines()
    told = [f"- {line.removeprefix('- ')}" for line in old if line.strip() and line not in new]
    told += [f"+ {line.removeprefix('- ')}" for line in new if line.strip() and line not in old]
    lines += _cut(texts, told)
    if changed.line.event in ("applied", "adopted"):
        lines.append(texts.say("soul_view.back", undo=how("undo")))
    return lines


def _refused(texts: Texts, refused: Refused) -> list[str]:
    findings = refused.findings[:_FINDINGS] if isinstance(refused, SoulDenied) else ()
    return [texts.said(refusal_words(refused)), *(_finding(texts, one) for one in findings)]


def _finding(texts: Texts, finding: Finding) -> str:
    said = texts.said(finding.said)
    return texts.say("soul_view.line", line=finding.line, said=said) if finding.line else said


def _diff(texts: Texts, diff: SoulDiff, how: How) -> list[str]:
    said, marks = [], ("+", "-", " ")
    if diff.proposed is not None:
        number = diff.proposed.proposal
        said = [texts.say("soul_view.proposed", number=number), _next(texts, how, number)]
    lines = ["…" if not line.startswith(marks) else line for line in diff.lines]
    return said + _cut(texts, lines[1:])


def _cut(texts: Texts, lines: Sequence[str]) -> list[str]:
    shown = [line[:1] + _line(line[1:]) for line in lines[:_DIFF]]
    more = len(lines) - _DIFF
    return shown + ([texts.say("soul_view.more_lines", count=more)] if more > 0 else [])


def _log(texts: Texts, lines: Sequence[SoulLine], broken: int, most: int) -> list[str]:
    said = [texts.say("reject.broken", detail=broken)] if broken else []
    shown = lines[:most] if most else lines
    said += [_log_line(texts, line) for line in shown]
    if more := len(lines) - len(shown):
        said.append(texts.say("soul_view.older_lines", count=more))
    return said or [texts.say("soul_view.no_record")]


def _log_line(texts: Texts, line: SoulLine) -> str:
    actor = _ACTORS.get(line.actor)
    about = []
    if line.proposal:
        about.append(texts.say("soul_view.of_proposal", number=line.proposal))
    if line.version and line.event != "proposed":
        about.append(texts.say("soul_view.of_version", number=line.version))
    if line.source:
        about.append(texts.say("soul_view.as_version", number=line.source))
    why = (line.verdict or {}).get("why")
    parts = (
        f"{line.n}  {line.at:%Y-%m-%d %H:%M}",
        texts.say(f"soul_event.{line.event}"),
        texts.say("common.and").join(about),
        texts.say(f"soul_actor.{actor}") if actor else safe(line.actor),
        safe(str(why.get(texts.spoken, ""))) if isinstance(why, dict) else "",
    )
    return "  ".join(filter(None, parts))


def _verified(texts: Texts, found: SoulVerified) -> str:
    if found.line:
        return texts.say("soul_view.wrong", line=found.line, why=found.why or SOUL_CHAIN)
    if not found.lines:
        return texts.say("soul_view.no_record")
    is_page = found.why == SOUL_PAGE
    return texts.say(f"soul_view.{'right_but_page' if is_page else 'right'}", lines=found.lines)


def _line(text: str) -> str:
    """Returns a line of a file that forges nothing; a blank in front stays."""
    return f" {safe(text)}" if text.startswith(" ") else safe(text)
