"""Services with a limit to a call, and services that get another model while the bot runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.host.providers import AstrBotEmbedding
from astrbot_plugin_scoped_memory.llm_memory import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


class Narrow:
    """Takes ten texts a call, and refuses more."""

    def __init__(self) -> None:
        self.model = "first"

    def get_model(self) -> str:
        return self.model

    def get_dim(self) -> int:
        return 0

    async def get_embeddings(self, texts: list[str]) -> Sequence[Sequence[float]]:
        if len(texts) > 10:
            raise ValueError("too many")
        return [[1.0, float(len(text)), float(ord(text[0]) % 7)] for text in texts]


class Context:
    """An AstrBot with one provider, or none."""

    def __init__(self, provider: Any) -> None:
        self.provider = provider

    def get_provider_by_id(self, _: str) -> Any:
        return self.provider


async def test_another_model_in_the_same_service_is_noticed_and_prepared_anew() -> None:
    provider = Narrow()
    embedder = ProviderEmbedder(AstrBotEmbedding(Context(provider), "narrow"))
    before = await embedder.prepare()
    await embedder.embed_documents(["abc"])
    provider.model = "second"
    with pytest.raises(EmbeddingFailed, match="model_changed"):
        await embedder.embed_documents(["abc"])
    with pytest.raises(EmbeddingFailed, match="model_changed"):
        await embedder.embed_query("abc")
    assert await embedder.prepare() != before
    await embedder.embed_documents(["abc"])


async def test_a_service_that_is_away_has_not_changed_its_model() -> None:
    context = Context(Narrow())
    embedder = ProviderEmbedder(AstrBotEmbedding(context, "narrow"))
    await embedder.prepare()
    context.provider = None
    with pytest.raises(LookupError):
        await embedder.embed_documents(["abc"])
