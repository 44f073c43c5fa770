"""What an explanation says of a recall."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.core.replies.explanation import record_json, why_text
from astrbot_plugin_scoped_memory.llm_memory import (
    GIVEN_UP,
    Explained,
    Hit,
    Told,
    Trace,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Considered
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

NOW = datetime(2026, 11, 21, tzinfo=UTC)
FULL_WIDTH = set("、；，。：（）")


def explained(trace: Trace, *considered: Considered) -> Explained:
    return Explained(Told("c", "q", NOW, trace), tuple((one, None) for one in considered))


@pytest.mark.parametrize("name", ["my-reranker", ""])
def test_it_names_the_reranker_whose_order_it_is(name: str) -> None:
    considered = Considered("家人", "m-1", 1.0, 0.9, None, 0.8, None, reranked=0.25)
    trace = Trace(reranker=name, considered=(considered,))
    text = why_text(Texts("zh-CN"), explained(trace, considered), detail=True)
    assert ("my-reranker" in text) is bool(name)
    panel = json.loads(json.dumps(record_json(Told("c", "q", NOW, trace))))
    assert panel["reranker"] == name
    assert panel["candidates"][0]["reranked"] == 0.25


@pytest.mark.parametrize(("language", "apart"), [("zh-CN", "、"), ("en-US", ", ")])
def test_lists_are_written_as_in_the_language(language: str, apart: str) -> None:
    hit = Hit("m-3", "facts.md#m-3", "家人", "x", "Ming", NOW, 0.9, 5)
    trace = Trace(scopes=("家人", "public"), topics=("facts", "tasks"))
    one = Considered("家人", "m-3", 1.0, 0.9, None, 0.8, None)
    told = Explained(Told("c", "q", NOW, trace), ((one, hit),), {"m-3": ("m-4", "m-5")})
    in_figures = why_text(Texts(language), told, detail=True)
    plain = why_text(Texts(language), told)
    for listed in (("家人", "public"), ("m-4", "m-5")):
        assert apart.join(listed) in in_figures
        assert apart.join(listed) in plain
    assert apart.join(("facts.md", "tasks.md")) in in_figures
    if language == "en-US":
        assert not FULL_WIDTH & {*in_figures, *plain}


def test_who_did_not_wait_is_not_told_that_nothing_was_found() -> None:
    texts = Texts("zh-CN")
    text = why_text(texts, explained(Trace(notes=(GIVEN_UP,))), detail=True)
    assert texts.say("explain.given_up") in text
    assert texts.say("explain.no_candidates") not in text


def test_what_a_broken_part_says_of_the_machine_is_told_to_admins_alone() -> None:
    trace = explained(Trace(notes=("lexical: [Errno 28] full: '/srv/bot/index'",)))
    assert "/srv/bot/index" in why_text(Texts("zh-CN"), trace, admin=True, detail=True)
    told = why_text(Texts("zh-CN"), trace, detail=True)
    assert "lexical" in told
    assert "srv" not in told
