"""What a word of another script than Han says, wherever it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.lexical.word_weights import says
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer

pytestmark = pytest.mark.unit


@given(text=st.text())
def test_every_token_has_a_positive_weight(text: str) -> None:
    assert all(0.0 < says(token) < 1.0 for token in Tokenizer(use_jieba=False).tokens(text))


def test_rare_words_weigh_more_than_common_and_function_words_least() -> None:
    assert says("lisbon") > says("tim") > says("the")
    assert says("8443") > says("3")
