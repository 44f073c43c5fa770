"""What a soul's faults, states, events and probes are called. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...models.said import Said
from ...models.soul import (
    EVALUATION,
    OWNER,
    REFLECTION,
    SEEDED_BY,
    ProbeKind,
    SoulEvent,
    SoulFault,
    SoulState,
)

PROBE_KINDS: Final[Mapping[ProbeKind, Said]] = {
    ProbeKind.SAFETY: Said("安全", "safety"),
    ProbeKind.PRIVACY: Said("隐私", "privacy"),
    ProbeKind.IDENTITY: Said("身份", "identity"),
    ProbeKind.HELPFUL: Said("有用", "helpfulness"),
    ProbeKind.STYLE: Said("表达", "style"),
    ProbeKind.AIM: Said("目标", "aim"),
    ProbeKind.OWN: Said("自备", "own"),
}
FAULTS: Final[Mapping[SoulFault, Said]] = {
    SoulFault.NOT_ALLOWED: Said("只有管理员能改", "Only an admin changes it."),
    SoulFault.OFF: Said(
        "没有开：面板里的 soul_evolution 是 off",
        "It is switched off: soul_evolution is off in the panel.",
    ),
    SoulFault.OPEN_PROPOSAL: Said(
        "还有一个提议等着：{}。先让它生效，或否决它",
        "Proposal {} still waits. Apply or veto it first.",
    ),
    SoulFault.SAME: Said("和现在的一样，没有要改的", "It would change nothing."),
    SoulFault.ONCE_A_DAY: Said(
        "今天已经生效过一次，明天再来。退回和否决随时都行",
        "One was applied today already; try tomorrow. Rollback and veto work at any time.",
    ),
    SoulFault.STALE: Said(
        "它是照旧的一版写的，现在生效的已经不是那一版了，请重新提议",
        "It was made from a version that is no longer in force. Propose it anew.",
    ),
    SoulFault.CONFLICT: Said(
        "有人改过 SOUL.md，先收下或丢弃那些改动",
        "A person has edited SOUL.md: adopt or discard that first.",
    ),
    SoulFault.DENIED: Said("没有通过", "It was refused."),
    SoulFault.NO_SUCH: Said("没有这个可以处理的编号", "No such number can be dealt with."),
    SoulFault.NO_TARGET: Said(
        "没有可以退回的版本：前面没有了，或者那一版被否决过",
        "There is no version to roll back to: none is before it, or it was vetoed.",
    ),
    SoulFault.NOTHING_BY_HAND: Said("没有人改过 SOUL.md", "Nobody has edited SOUL.md."),
    SoulFault.BROKEN: Said(
        "变更记录从第 {} 行起对不上，什么也不改；正在用的那一版照旧",
        "The chain is broken from line {}: nothing is changed, and what is in force stays.",
    ),
    SoulFault.NEWER: Said(
        "是更新的版本写的，请先升级插件；正在用的那一版照旧",
        "A newer version wrote it: upgrade the plugin first. What is in force stays.",
    ),
    SoulFault.BUDGET: Said(
        "今天的 token 用完了，没有评估；提议还在，明天再来",
        "The day's tokens are used up: it was not evaluated. The proposal waits.",
    ),
    SoulFault.UNJUDGED: Said(
        "模型没有答好，没有评估成；提议还在，过一会儿再来",
        "The model did not answer properly: there is no verdict. The proposal waits.",
    ),
    SoulFault.NOT_WRITTEN: Said("写不了：{}", "It cannot be written: {}"),
}
STATES: Final[Mapping[SoulState, Said]] = {
    SoulState.PROPOSED: Said("还没评估", "not evaluated yet"),
    SoulState.DENIED: Said("没有通过", "refused"),
    SoulState.APPROVED: Said("评估通过了", "it has passed"),
    SoulState.ACTIVE: Said("正在用", "in force"),
    SoulState.SUPERSEDED: Said("已换掉", "superseded"),
    SoulState.ROLLED_BACK: Said("已退回", "rolled back"),
    SoulState.VETOED: Said("已否决", "vetoed"),
}
EVENTS: Final[Mapping[SoulEvent, Said]] = {
    SoulEvent.SEEDED: Said("开始", "seeded"),
    SoulEvent.PROPOSED: Said("提议", "proposed"),
    SoulEvent.DENIED: Said("没有通过", "denied"),
    SoulEvent.APPROVED: Said("通过", "approved"),
    SoulEvent.APPLIED: Said("生效", "applied"),
    SoulEvent.VETOED: Said("否决", "vetoed"),
    SoulEvent.ROLLED_BACK: Said("退回", "rolled back"),
    SoulEvent.ADOPTED: Said("收下", "adopted"),
    SoulEvent.DISCARDED: Said("丢弃", "discarded"),
    SoulEvent.RESTORED: Said("放回 SOUL.md", "SOUL.md restored"),
}
ACTORS: Final[Mapping[str, Said]] = {
    REFLECTION: Said("机器人", "the bot"),
    OWNER: Said("主人", "owner"),
    EVALUATION: Said("评估", "evaluation"),
    SEEDED_BY: Said("插件", "the plugin"),
}
