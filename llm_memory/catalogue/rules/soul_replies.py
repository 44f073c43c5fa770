"""What a person asks of a soul and what became of it, at the command line or in chat: short enough
for a phone. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from ...models.data_models import shown_day
from ...models.said import Said
from ...models.shelf import NO_PERSONA
from ...models.soul import (
    AdoptSoul,
    ApplySoul,
    DiffSoul,
    DiscardSoul,
    Finding,
    LogSoul,
    ProposeSoul,
    RollbackSoul,
    ShowSoul,
    SoulChanged,
    SoulEnded,
    SoulEvaluation,
    SoulEvent,
    SoulFault,
    SoulLine,
    SoulLog,
    SoulOutcome,
    SoulProposed,
    SoulRefused,
    SoulRequest,
    SoulState,
    SoulText,
    SoulVerified,
    SoulView,
    VerifySoul,
    VetoSoul,
)
from ...models.vault_layout import SOUL_PAGE
from ...text.normalising import preview
from ...text.safe_text import safe
from .soul_words import ACTORS, EVENTS, FAULTS, PROBE_KINDS, STATES

type How = Callable[[str], Said]
"""Returns what a person writes for an action, such as ``apply 7``."""

_PLAIN: Final[Mapping[str, SoulRequest]] = {
    "show": ShowSoul(),
    "log": LogSoul(),
    "verify": VerifySoul(),
    "adopt": AdoptSoul(),
    "discard": DiscardSoul(),
}
_NUMBERED: Final[Mapping[str, Callable[[int], SoulRequest]]] = {
    "apply": ApplySoul,
    "veto": VetoSoul,
    "rollback": RollbackSoul,
    "diff": DiffSoul,
}
ACTIONS: Final = (*_PLAIN, "propose", *_NUMBERED)
_DIGITS: Final = 9
_RULES: Final = 5
_RULE: Final = 60
_FINDINGS: Final = 5
_DIFF: Final = 30


def request_of(action: str, words: str) -> SoulRequest | None:
    """Returns what is asked for by one of ``ACTIONS``, empty for ``show``, and the words behind it;
    None for words that ask for nothing."""
    if action == "propose":
        return ProposeSoul(words) if words else None
    if (numbered := _NUMBERED.get(action)) is not None:
        is_number = not words or (words.isdecimal() and len(words) <= _DIGITS)
        return numbered(int(words or 0)) if is_number else None
    return None if words else _PLAIN.get(action or "show")


def view_words(view: SoulView, how: How, *, all_of_it: bool, off: bool) -> Said:
    """Returns what is in force; with ``all_of_it``, which is for admins, also what waits and what
    is wrong. At most 12 lines. ``off``: the setting is, so nothing of it is injected."""
    number, day = view.version.number, shown_day(view.version.at, "")
    role = safe(view.role)
    zh, en = (
        ("没有人格时", "Without a persona")
        if view.role == NO_PERSONA
        else (f"人格“{role}”", f"Persona {role}")
    )
    dated = (f"（{day}）", f" ({day})") if day else ("", "")
    lines = [
        Said(f"{zh}学到的说话习惯：第 {number} 版{dated[0]}", f"{en}: version {number}{dated[1]}")
    ]
    lines += [_same(f"- {preview(safe(rule), _RULE)}") for rule in view.rules[:_RULES]]
    if more := len(view.rules) - _RULES:
        lines += [Said(f"还有 {more} 条", f"and {more} more")] if more > 0 else []
    if not view.rules:
        lines.append(Said("还没有学到什么", "Nothing was learned yet."))
    if off:
        lines.append(Said("没有开，这些都不用", "It is switched off: none of this is used."))
    return _joined(lines + (_waiting(view, how) if all_of_it else []))


def _waiting(view: SoulView, how: How) -> list[Said]:
    """At most five lines."""
    lines: list[Said] = []
    if view.newer:
        lines.append(FAULTS[SoulFault.NEWER])
    if view.broken:
        lines.append(_filled(FAULTS[SoulFault.BROKEN], str(view.broken)))
        lines.append(_behind(Said("查：", "Check: "), how("verify")))
    if view.by_hand:
        adopt, discard = how("adopt"), how("discard")
        lines.append(
            Said(
                f"有人改过 SOUL.md，还没有用。收下：{adopt.zh}；丢弃：{discard.zh}",
                f"SOUL.md was edited, which is not in force. Keep it: {adopt.en}. Drop it: "
                f"{discard.en}",
            )
        )
    if (proposal := view.open) is not None and view.state is not None:
        aim, state = preview(safe(proposal.aim), _RULE), STATES[view.state]
        lines.append(
            Said(
                f"提议 {proposal.number}（{state.zh}）：{aim}",
                f"Proposal {proposal.number} ({state.en}): {aim}",
            )
        )
        lines.append(_next(how, proposal.number))
    return lines


def _next(how: How, number: int) -> Said:
    diff, apply, veto = how("diff"), how(f"apply {number}"), how(f"veto {number}")
    return Said(
        f"看改动：{diff.zh}；生效：{apply.zh}；不要：{veto.zh}",
        f"See it: {diff.en}. Put it in force: {apply.en}. Drop it: {veto.en}",
    )


def outcome_words(outcome: SoulOutcome, how: How, *, most: int = 0) -> Said:
    """Returns what was done, or why nothing was. Of a view, what an admin sees. ``most``: lines of
    a log, 0 for all."""
    match outcome:
        case SoulView():
            return view_words(outcome, how, all_of_it=True, off=False)
        case SoulProposed(proposal):
            number = proposal.number
            head = Said(
                f"记下了，是提议 {number}，还没有用", f"Proposal {number}, not in force yet."
            )
            return _joined([head, _next(how, number)])
        case SoulChanged():
            return _changed(outcome, how)
        case SoulEnded(SoulEvent.DISCARDED, _, kept):
            place = safe(kept)
            return Said(
                f"丢弃了 SOUL.md 里改的，留了一份：{place}",
                f"What was edited is discarded; a copy: {place}",
            )
        case SoulEnded(_, number):
            return Said(f"否决了提议 {number}", f"Proposal {number} is vetoed.")
        case SoulText(lines):
            return _joined(_diff(lines))
        case SoulLog(lines, broken):
            return _joined(_log(lines, broken, most))
        case SoulVerified():
            return _verified(outcome)
        case SoulRefused():
            return _refused(outcome)


def _changed(changed: SoulChanged, how: How) -> Said:
    number = changed.version.number
    event = EVENTS[changed.event]
    lines = [
        Said(
            f"{event.zh}了：从下一句话起用第 {number} 版",
            f"{event.en.capitalize()}: version {number}, from the next message on.",
        )
    ]
    old, new = changed.before.splitlines(), changed.text.splitlines()
    told = [f"- {line.removeprefix('- ')}" for line in old if line.strip() and line not in new]
    told += [f"+ {line.removeprefix('- ')}" for line in new if line.strip() and line not in old]
    lines += _cut(told)
    if changed.verdict is not None:
        lines += _verdict(changed.verdict)
    if changed.event in (SoulEvent.APPLIED, SoulEvent.ADOPTED):
        lines.append(_behind(Said("退回：", "To take it back: "), how("rollback")))
    return _joined(lines)


def _refused(refused: SoulRefused) -> Said:
    detail = safe(refused.detail)
    lines = [_filled(FAULTS[refused.fault], detail)]
    if refused.fault is SoulFault.NO_SUCH and refused.detail in list(SoulState):
        state = STATES[SoulState(refused.detail)]
        lines = [Said(f"{lines[0].zh}：它{state.zh}", f"{lines[0].en} It is {state.en}.")]
    # Without a verdict the text was not kept: its lines say nothing to who typed a wish.
    lines += [_finding(one, numbered=refused.verdict is not None) for one in refused.findings][
        :_FINDINGS
    ]
    if refused.verdict is not None:
        lines += _verdict(refused.verdict)
    return _joined(lines)


def _finding(finding: Finding, *, numbered: bool) -> Said:
    if not numbered or not finding.lines:
        return finding.said
    numbers = list(map(str, finding.lines))
    return Said(
        f"第 {'、'.join(numbers)} 行：{finding.said.zh}",
        f"Line {', '.join(numbers)}: {finding.said.en}",
    )


def _verdict(verdict: SoulEvaluation) -> list[Said]:
    """Why, which kinds of probes became worse, and what it cost."""
    lines = [] if verdict.findings or not verdict.why.zh else [verdict.why]
    worse = Counter(one.kind for one in verdict.probes if one.before and not one.after)
    if worse:
        zh = "、".join(f"{PROBE_KINDS[kind].zh} {count}" for kind, count in worse.items())
        en = ", ".join(f"{PROBE_KINDS[kind].en} {count}" for kind, count in worse.items())
        lines.append(Said(f"变差的题：{zh}", f"Worse probes: {en}"))
    if verdict.calls:
        calls, tokens = verdict.calls, f"{verdict.tokens:,}"
        lines.append(
            Said(f"问了模型 {calls} 次，{tokens} token", f"{calls} calls, {tokens} tokens")
        )
    return lines


def _diff(lines: Sequence[str]) -> list[Said]:
    marks = ("+", "-", " ")
    return _cut(["…" if not line.startswith(marks) else line for line in lines][1:])


def _cut(lines: Sequence[str]) -> list[Said]:
    shown = [_same(line[:1] + _line(line[1:])) for line in lines[:_DIFF]]
    if more := len(lines) - _DIFF:
        shown += [Said(f"还有 {more} 行", f"and {more} more lines")] if more > 0 else []
    return shown


def _log(lines: Sequence[SoulLine], broken: int, most: int) -> list[Said]:
    said = [_filled(FAULTS[SoulFault.BROKEN], str(broken))] if broken else []
    shown = lines[:most] if most else lines
    said += [_log_line(line) for line in shown]
    if more := len(lines) - len(shown):
        said.append(Said(f"还有更早的 {more} 行", f"and {more} older lines"))
    return said or [Said("还没有记录", "There is no record yet.")]


def _log_line(line: SoulLine) -> Said:
    event, at = EVENTS[line.event], f"{line.at:%Y-%m-%d %H:%M}"
    who = ACTORS.get(line.actor, _same(safe(line.actor)))
    zh, en = [], []
    if line.proposal:
        zh.append(f"提议 {line.proposal}")
        en.append(f"proposal {line.proposal}")
    if line.version and line.event is not SoulEvent.PROPOSED:
        zh.append(f"第 {line.version} 版")
        en.append(f"version {line.version}")
    if line.source:
        zh.append(f"同第 {line.source} 版")
        en.append(f"as {line.source}")
    return Said(
        "  ".join((f"{line.n}  {at}", event.zh, *(["，".join(zh)] if zh else []), who.zh)),
        "  ".join((f"{line.n}  {at}", event.en, *([", ".join(en)] if en else []), who.en)),
    )


def _verified(found: SoulVerified) -> Said:
    why = safe(found.why)
    if found.line:
        return Said(
            f"第 {found.line} 行起对不上（{why}）；正在用的那一版照旧，什么也改不了",
            f"Line {found.line} is wrong ({why}). What is in force stays; nothing is changed.",
        )
    if not found.lines:
        return Said("还没有记录", "There is no record yet.")
    if found.why == SOUL_PAGE:
        return Said(
            f"{found.lines} 行都对得上，只是 SOUL.md 不是正在用的那一版",
            f"All {found.lines} lines are right, but SOUL.md is not the version in force.",
        )
    return Said(f"{found.lines} 行都对得上", f"All {found.lines} lines are right.")


def _line(text: str) -> str:
    """Returns a line of a file that forges nothing; a blank in front stays."""
    return f" {safe(text)}" if text.startswith(" ") else safe(text)


def _same(text: str) -> Said:
    return Said(text, text)


def _filled(said: Said, detail: str) -> Said:
    return Said(said.zh.replace("{}", detail), said.en.replace("{}", detail))


def _behind(head: Said, rest: Said) -> Said:
    return Said(head.zh + rest.zh, head.en + rest.en)


def _joined(lines: Iterable[Said]) -> Said:
    lines = list(lines)
    return Said("\n".join(one.zh for one in lines), "\n".join(one.en for one in lines))
