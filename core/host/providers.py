"""AstrBot's providers: of embeddings as engine embedders, with the choice among the rungs; of
reranking; of chat as the engine's reader of finished turns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import batched
from typing import Any

from ...llm_memory import EnginePaths, EngineSettings
from ...llm_memory.composition.indexes import model_on_disk, provider_embedder
from ...llm_memory.errors import ChatFailed, RerankFailed
from ...llm_memory.index.embedding.ports import Embedder
from ...llm_memory.reflection.chat_port import Completion
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


_CHAT = "chat_completion"
"""AstrBot's ``ProviderType.CHAT_COMPLETION``."""
_STATUS = re.compile(r"(?<!\d)(?:4\d\d|5\d\d)(?!\d)")
_REFUSED = "429"
_EMPTY = "EmptyModelOutputError"


class AstrBotChat:
    """For the port ChatModel: the conversation's own model, or the one that the setting names.

    Looked up at every call: providers come after plugins, and a reload replaces the object, or
    takes it away. One that is named is never replaced by another, for that would be paid, too.
    No hook fires, no history is read or written, and AstrBot does not try a failed call again:
    how often is asked is up to the caller.
    """

    def __init__(self, context: Any, provider_id: str) -> None:
        self._context = context
        self.label = provider_id

    def is_there(self, conversation: str) -> bool:
        if self.label != AUTO:
            return loaded_provider(self._context, self.label, _CHAT) is not None
        if not self._context.provider_manager.provider_insts:
            return False
        return not conversation or answers_itself(self._context, conversation)

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        if not self.is_there(conversation):
            raise ChatFailed("gone")
        try:
            chosen = self.label
            if chosen == AUTO:
                chosen = await self._context.get_current_chat_provider_id(umo=conversation)
            response = await self._context.llm_generate(
                chat_provider_id=chosen,
                prompt=prompt,
                system_prompt=system,
                request_max_retries=1,
            )
        except Exception as error:
            raise _translated(error) from error
        if response.role == "err":
            raise ChatFailed("failed: err")
        usage = response.usage
        tokens = usage.total if usage is not None else None
        return Completion(response.completion_text or "", tokens, model=chosen)


def answers_itself(context: Any, umo: str) -> bool:
    """Returns True where a model of AstrBot answers. A third-party runner has a model of its own,
    and gets the prompt and nothing beside it."""
    runner = context.get_config(umo=umo).get("agent_runner") or {}
    return bool(runner.get("runner_type", "local") == "local")


def _translated(error: Exception) -> ChatFailed:
    """By kind and number alone: a service's own words may quote a key, or what was asked."""
    kind = type(error).__name__
    found = _STATUS.search(str(error))
    status = found[0] if found else ""
    if kind == _EMPTY:
        return ChatFailed("empty")
    if isinstance(error, TimeoutError) or "Timeout" in kind:
        return ChatFailed(f"timeout: {kind}")
    code = "refused" if status == _REFUSED else "failed"
    return ChatFailed(f"{code}: {kind} {status}".rstrip())
