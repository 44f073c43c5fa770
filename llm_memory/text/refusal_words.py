"""Why something was not stored, for a person at the command line and for an agent. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..models.data_models import Rejected, RejectReason
from ..models.said import Said

REFUSALS: Final[Mapping[RejectReason, Said]] = {
    RejectReason.EMPTY: Said("没有可记的内容", "there is nothing to remember in it"),
    RejectReason.TOO_LONG: Said(
        "太长了，每条最多 {detail} 个字，请分开写",
        "too long: at most {detail} characters each, split it",
    ),
    RejectReason.TOO_SHORT: Said(
        "太短了，请写成单独也看得懂的一句话",
        "too short: write a sentence that is understood on its own",
    ),
    RejectReason.FILLER: Said(
        "只是客套或应答，没有可记的", "only a courtesy or a reply, nothing to remember"
    ),
    RejectReason.CODE: Said(
        "只有代码或数据，请用一句话写明它是什么、做什么用",
        "only code or data: say in a sentence what it is and what it is for",
    ),
    RejectReason.SPECULATION: Said(
        "只是猜测，确定了再记", "only a guess: log it once it is certain"
    ),
    RejectReason.PRIVATE: Said(
        "有私密内容，隐私设置不让记", "it holds private data, which the settings do not let in"
    ),
    RejectReason.CONFIDENCE: Said(
        "要保密的话，别人也看得到这里", "it is confidential, and others can read this place"
    ),
    RejectReason.READ_ONLY: Said(
        "这里只读；要写，请主人先在 conversation_scope_map 里写上 {conversation}",
        "read only here; the owner has to map {conversation} in conversation_scope_map first",
    ),
    RejectReason.REFUSED: Said("认不出这个会话", "the conversation is not known"),
    RejectReason.LEARNING_PAUSED: Said(
        "按域过滤关着，其间不记新的", "the scope filter is off; nothing is learned meanwhile"
    ),
    RejectReason.OFF_THE_RECORD: Said(
        "暂停了记忆，其间什么也不记", "off the record now: nothing is stored"
    ),
    RejectReason.CORRECTED: Said(
        "后来有人忘记或改过它", "it was forgotten or changed by a person since"
    ),
    RejectReason.UNKNOWN_SCOPE: Said("没有这个域：{detail}", "there is no such scope: {detail}"),
    RejectReason.NOT_WRITTEN: Said(
        "没能写入磁盘（{detail}）", "could not be written to disk ({detail})"
    ),
}


def refusal_words(rejected: Rejected, conversation: object) -> Said:
    """Returns why nothing was stored. ``conversation`` is the one in which it was said."""
    said, fill = (
        REFUSALS[rejected.reason],
        {"detail": rejected.detail, "conversation": conversation},
    )
    return Said(said.zh.format(**fill), said.en.format(**fill))
