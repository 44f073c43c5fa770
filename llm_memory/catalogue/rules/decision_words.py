"""What became of a decision, for a person at the command line or in chat. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...models.data_models import shown_day
from ...models.decisions import (
    DecisionFault,
    DecisionItem,
    DecisionState,
    Draft,
    NotRecorded,
    Recorded,
    TurnedDown,
    record_name,
)
from ...models.said import Said
from ...text.safe_text import safe

_STATES: Final[Mapping[DecisionState, Said]] = {
    DecisionState.PROPOSED: Said("提议", "proposed"),
    DecisionState.ACCEPTED: Said("已接受", "accepted"),
    DecisionState.REJECTED: Said("已否决", "rejected"),
    DecisionState.SUPERSEDED: Said("已被取代", "superseded"),
    DecisionState.WITHDRAWN: Said("已撤回", "withdrawn"),
}
_FAULTS: Final[Mapping[DecisionFault, Said]] = {
    DecisionFault.NO_PROPOSAL: Said("这里没有这个提议", "no such proposal here"),
    DecisionFault.AMBIGUOUS: Said("不止一个提议这样开头：{}", "several begin like this: {}"),
    DecisionFault.NOT_ALLOWED: Said("只有管理员能决定", "only an admin decides"),
    DecisionFault.REFERENCE: Said(
        "要写出处（issue 或 pr）：#12、owner/repo#12 或网址",
        "it needs an issue or a pr: #12, owner/repo#12 or an address",
    ),
    DecisionFault.OBJECTION: Said("不写进去", "not written"),
    DecisionFault.PRIVATE: Said("有不能公开的：{}", "it holds what is never published: {}"),
    DecisionFault.NO_SUCH_RECORD: Said(
        "没有这一条在用的决定", "no decision in force has this number"
    ),
    DecisionFault.OPEN_FENCE: Said(
        "文件第 {} 行的代码块或注释没有收尾，先补上",
        "a code block or comment is not closed in the file, line {}: close it first",
    ),
    DecisionFault.FILE: Said("文件写不了：{}", "the file cannot be written: {}"),
    DecisionFault.STATE: Said("状态记不下来：{}", "the state cannot be noted: {}"),
    DecisionFault.HALF: Said(
        "只写进去一部分，下次启动或决定时补完：{}",
        "a part of it was written; the next start or decision completes it: {}",
    ),
}
_OBJECTIONS: Final[Mapping[str, Said]] = {
    "guess": Said("只是猜测", "only a guess"),
    "dispute": Said("还没定", "not settled yet"),
    "stale": Said("只管几天", "holds for a few days only"),
    "names_speaker": Said("写着是谁或在哪说的", "names who said it, or where"),
}
"""By the codes of ``Objection``."""


def item_line(item: DecisionItem) -> Said:
    """Returns a proposal or a record as a line: what names it, its state, day, words and place."""
    name = record_name(item.number) if item.number else item.memory_id
    day = shown_day(item.at, "") if item.at else ""
    place = f"{item.file}:{item.line}" if item.file else item.memory_id if item.number else ""
    about = " ".join(filter(None, (item.reference.issue, item.reference.pr, place)))
    behind = [Said(f"（{about}）", f" ({about})")] if about else []
    behind += [Said("〔号重复〕", " [number used twice]")] if item.twice else []
    if item.number and not item.file:
        behind.append(Said("〔文件里没有〕", " [not in the files]"))
    state, title = _STATES[item.state], safe(item.title)
    zh, en = ("".join(part) for part in ([s.zh for s in behind], [s.en for s in behind]))
    return Said(
        "  ".join(filter(None, (name, state.zh, day, title))) + zh,
        "  ".join(filter(None, (name, state.en, day, title))) + en,
    )


def outcome_words(outcome: Draft | Recorded | TurnedDown | NotRecorded) -> Said:
    """Returns what was done, or why nothing was. Of a draft, its head and the exact text."""
    match outcome:
        case Draft(text, file=file):
            again = Said("和刚才看的不一样了。", "It is no longer what was shown. ")
            head = again if outcome.outdated else Said("", "")
            return Said(
                f"{head.zh}还没有写。会接在 {file.path} 后面，谁都看得到：\n{text}",
                f"{head.en}Not written yet. Everybody would read, at the end of {file.path}:\n"
                f"{text}",
            )
        case Recorded(number, file, line, again=again):
            place = f"{record_name(number)} {file.path}:{line}"
            return (
                Said(f"早就写好了：{place}", f"written before: {place}")
                if again
                else Said(f"写好了：{place}", f"written: {place}")
            )
        case TurnedDown(memory_id):
            return Said(f"否决了：{memory_id}", f"rejected: {memory_id}")
        case NotRecorded(fault, detail, against):
            why, detail = _FAULTS[fault], safe(detail)
            zh = [f"{_OBJECTIONS[one.code].zh}“{safe(one.words)}”" for one in against]
            en = [f'{_OBJECTIONS[one.code].en}, "{safe(one.words)}"' for one in against]
            return Said(
                "：".join(filter(None, (why.zh.format(detail), "；".join(zh)))),
                ": ".join(filter(None, (why.en.format(detail), "; ".join(en)))),
            )
