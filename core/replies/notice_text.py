"""Notices of the engine as texts."""

from __future__ import annotations

from ...llm_memory import Notice, NoticeCode
from ...llm_memory.catalogue.rules.soul_replies import persona_words
from ...llm_memory.models.shelf import NO_PERSONA
from ...llm_memory.texts import Texts
from ..host.requirements import bundled_model_for_here


def notice_text(texts: Texts, notice: Notice) -> str:
    """The notice in the owner's language."""
    params = dict(notice.params)
    if fault := params.get("fault"):
        params["fault"] = texts.say(f"fault.{fault}")
    if reason := params.get("reason"):
        params["reason"] = texts.say(f"file.{reason}")
    if cause := params.get("cause"):
        params["cause"] = texts.say(f"cause.{cause}")
    if notice.code is NoticeCode.EMBEDDER_FAILING:
        rung = str(params["embedder"]).partition(":")[0]
        code = str(params["detail"]).partition(":")[0]
        remedy = f"{rung}.{code}"  # what the owner can do
        if texts.knows(remedy):
            params["detail"] += texts.say(remedy, name=bundled_model_for_here())
    if odd := params.get("odd"):
        params["odd"] = texts.say(f"map_key.{odd}", **params)
    if (role := params.get("role")) is not None:
        params["who"] = persona_words(texts, role)
        there = "there_without" if role == NO_PERSONA else "there"
        params["there"] = texts.say(f"soul_view.{there}")
    return texts.say(f"notice.{notice.code}", **params)
