"""What an explanation says of a recall."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.core.explanation import told_json, why_text
from astrbot_plugin_scoped_memory.core.texts import Texts
from astrbot_plugin_scoped_memory.llm_memory import Explained, Told, Trace
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Considered

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize("language", ["zh-CN", "en-US"])
def test_it_names_the_reranker_whose_order_it_is(language: str) -> None:
    considered = Considered("家人", "m-1", 1.0, 0.9, None, 0.8, None, reranked=0.25)
    for name in ("my-reranker", ""):
        told = Told("c", "q", NOW, Trace(reranker=name, considered=(considered,)))
        text = why_text(Texts(language), Explained(told, ((considered, None),)))
        assert ("my-reranker" in text) is bool(name)
        panel = json.loads(json.dumps(told_json(told)))
        assert panel["reranker"] == name
        assert panel["candidates"][0]["reranked"] == 0.25
