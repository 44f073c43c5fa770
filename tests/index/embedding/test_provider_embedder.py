"""A host's embedding service, in all the states it can be in, behind the two wrappers."""

from __future__ import annotations

from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.checked import CheckedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.languages import (
    Language,
    check_language,
    language_of,
    unsupported_languages,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.raw_embedder import FakeRawEmbedder

pytestmark = pytest.mark.unit


def wrapped(raw: FakeRawEmbedder) -> CheckedEmbedder:
    return CheckedEmbedder(ProviderEmbedder(raw), query_seconds=30.0, write_seconds=30.0)


async def test_an_untold_dimension_is_found_out() -> None:
    fingerprint = await wrapped(FakeRawEmbedder(dim=96)).prepare()
    assert (fingerprint.model, fingerprint.dim) == ("provider:fake/fake-1", 96)


async def test_a_told_dimension_that_is_not_kept_is_an_error() -> None:
    with pytest.raises(EmbeddingFailed, match="wrong_dimension: 96 instead of 128"):
        await wrapped(FakeRawEmbedder(dim=96, told_dim=128)).prepare()


@pytest.mark.parametrize("answer", [None, "internal server error", [], [[]]])
async def test_an_answer_that_tells_no_dimension_prepares_nothing(answer: Any) -> None:
    raw = FakeRawEmbedder()
    raw.fault = lambda _: answer
    embedder = wrapped(raw)
    with pytest.raises(EmbeddingFailed):
        await embedder.prepare()
    raw.fault = None
    assert (await embedder.prepare()).dim == 128


def test_a_model_to_which_all_chinese_looks_alike_is_blind_to_it() -> None:
    import numpy as np

    queries = np.eye(16, dtype=np.float32)
    queries[:8] = 0.0
    queries[:8, 0] = 1.0  # Chinese comes first among the probes
    blind = unsupported_languages(queries, queries)
    assert blind == {Language.CHINESE}
    check_language("what does Anna drink", blind)
    with pytest.raises(EmbeddingFailed, match="language"):
        check_language("奶奶对什么过敏", blind)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("奶奶对花生过敏", Language.CHINESE),
        ("Python 的版本", Language.CHINESE),
        ("what about 花", Language.ENGLISH),
        ("8443", None),
        ("🎉", None),
    ],
)
def test_a_language_is_told_by_its_script(text: str, language: Language | None) -> None:
    assert language_of(text) is language


def test_nothing_is_checked_for_a_model_that_reads_all() -> None:
    check_language("奶奶", ())
