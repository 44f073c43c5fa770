"""Every reason to store nothing has its words, in both languages."""

from __future__ import annotations

import re

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Rejected, RejectReason
from astrbot_plugin_scoped_memory.llm_memory.text.refusal_words import refusal_words

pytestmark = pytest.mark.unit

HAN = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


@pytest.mark.parametrize("reason", RejectReason)
def test_each_reason_is_told_in_one_language_with_what_is_filled_in(reason: RejectReason) -> None:
    said = refusal_words(Rejected(reason, detail="{0.__class__}"))
    zh, en = said.text("zh"), said.text("en")
    assert HAN.search(zh)
    assert not HAN.search(en)
    assert zh.count("{0.__class__}") == en.count("{0.__class__}") == zh.count("{")
