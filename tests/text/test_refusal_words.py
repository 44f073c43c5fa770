"""Every reason to store nothing has its words, in both languages."""

from __future__ import annotations

import re

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Rejected, RejectReason
from astrbot_plugin_scoped_memory.llm_memory.text.refusal_words import (
    REFUSALS,
    refusal_words,
)

pytestmark = pytest.mark.unit

HAN = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
FIELD = re.compile(r"\{(\w+)\}")


@pytest.mark.parametrize("reason", RejectReason)
def test_each_reason_is_told_in_both_languages(reason: RejectReason) -> None:
    said = REFUSALS[reason]
    assert HAN.search(said.zh)
    assert said.en.strip()
    assert not HAN.search(said.en)
    assert FIELD.findall(said.zh) == FIELD.findall(said.en)


@pytest.mark.parametrize("reason", RejectReason)
def test_braces_in_a_detail_are_no_fields(reason: RejectReason) -> None:
    said = refusal_words(Rejected(reason, detail="{0.__class__}"), "{x}")
    for told, template in ((said.zh, REFUSALS[reason].zh), (said.en, REFUSALS[reason].en)):
        assert told.count("{") == len(FIELD.findall(template))
