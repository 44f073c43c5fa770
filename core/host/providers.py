"""AstrBot's embedding providers as engine embedders, the choice among the rungs, and its rerank
providers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import batched
from typing import Any

from ...llm_memory import EnginePaths, EngineSettings
from ...llm_memory.composition.indexes import model_on_disk, provider_embedder
from ...llm_memory.errors import RerankFailed
from ...llm_memory.index.embedding.ports import Embedder
from ..config import PluginConfig

AUTO = "auto"
BUNDLED = "bundled"
LEXICAL = "lexical"
LOCAL_MODELS_NEED = "sentence-transformers"
_RERANK = "rerank"
"""AstrBot's ``ProviderType.RERANK``."""
_TEXTS_A_CALL = 10
"""Common services refuse longer lists."""


class AstrBotEmbedding:
    """An embedding provider of AstrBot, looked up at every call: a reload replaces the object."""

    def __init__(self, context: Any, provider_id: str) -> None:
        self._context = context
        self._provider_id = provider_id
        self.label = f"provider:{provider_id}"

    @property
    def model(self) -> str:
        """The model that the provider is configured with now."""
        provider = self._provider()
        return str(provider.get_model() or "") if provider is not None else ""

    @property
    def dim(self) -> int:
        """What the provider is configured to give, 0 if it does not say."""
        provider = self._provider()
        try:
            return int(provider.get_dim()) if provider is not None else 0
        except (TypeError, ValueError):
            return 0

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text. Whatever the provider raises passes through to the checked wrapper."""
        provider = self._provider()
        if provider is None:
            raise LookupError(f"embedding provider {self._provider_id} is gone")
        vectors: list[Sequence[float]] = []
        for part in batched(texts, _TEXTS_A_CALL):
            vectors += await provider.get_embeddings(list(part))
        return vectors

    def _provider(self) -> Any:
        return self._context.get_provider_by_id(self._provider_id)


class AstrBotReranker:
    """A rerank provider of AstrBot, for the port Reranker. Looked up at every call: providers come
    after plugins, and a reload replaces the object, or takes it away."""

    def __init__(self, context: Any, provider_id: str) -> None:
        self._context = context
        self.label = provider_id

    @property
    def is_there(self) -> bool:
        """Whether AstrBot has it loaded now."""
        return loaded_provider(self._context, self.label, _RERANK) is not None

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, in the order of the texts: a provider answers the best first, by place.

        Raises RerankFailed; whatever the provider raises passes through to the caller that checks.
        """
        provider = loaded_provider(self._context, self.label, _RERANK)
        if provider is None:
            raise RerankFailed("gone")
        results = await provider.rerank(query, list(texts), len(texts))
        scores = {result.index: result.relevance_score for result in results}
        if len(results) != len(texts) or scores.keys() != set(range(len(texts))):
            raise RerankFailed(f"wrong_count: {len(scores)} for {len(texts)}")
        return [scores[place] for place in range(len(texts))]


def loaded_provider(context: Any, provider_id: str, kind: str) -> Any:
    """Returns the provider of one of AstrBot's kinds that is loaded now, None for none."""
    # Not get_provider_by_id, which logs a warning each time that there is none.
    provider = context.provider_manager.inst_map.get(provider_id)
    try:
        is_one = provider is not None and provider.meta().provider_type.value == kind
    except ValueError:  # the plugin that brought its type was unloaded
        is_one = False
    return provider if is_one else None


def choose_reranker(context: Any, config: PluginConfig) -> AstrBotReranker | None:
    """The one that the setting names, loaded or not; None where it names none."""
    return AstrBotReranker(context, config.rerank_provider) if config.rerank_provider else None


def choose_embedder(
    context: Any,
    config: PluginConfig,
    paths: EnginePaths,
    bundled: Embedder | None,
    local: Callable[[str], Embedder],
    *,
    bundled_is_there: bool,
    torch: bool,
) -> Embedder | None:
    """The rung that the setting names; ``auto`` takes the highest that is there. None is the last
    one, words alone.

    The rung stays until the configuration changes: an outage is no reason to compare with other
    vectors. ``bundled`` is None where it has no process to live in; ``local`` makes the embedder of
    a model by its folder or name; the other two are False where the packages for them are missing.
    """
    wanted = config.embedding
    known = {_id_of(provider): provider for provider in context.get_all_embedding_providers()}
    if wanted == LEXICAL:
        return None
    if wanted in known:
        return _from_provider(context, known[wanted], config.engine)
    if wanted == BUNDLED:
        return bundled
    if wanted != AUTO:
        return local(wanted)
    if known:
        return _from_provider(context, next(iter(known.values())), config.engine)
    model = model_on_disk(paths, torch=torch)
    if model is not None:
        return local(str(model))
    return bundled if bundled_is_there else None


def _from_provider(context: Any, provider: Any, settings: EngineSettings) -> Embedder:
    return provider_embedder(AstrBotEmbedding(context, _id_of(provider)), settings)


def _id_of(provider: Any) -> str:
    return str(provider.meta().id)
