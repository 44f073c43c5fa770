"""AstrBot's providers: of embeddings as engine embedders, with the choice among the rungs; of
reranking; of chat as the engine's reader of finished turns. Each is looked up at every call:
providers come after plugins, and a reload replaces the object, or takes it away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any

from ...llm_memory.errors import ChatFailed, RerankFailed
from ...llm_memory.index.embedding.local.model_folder import first_model
from ...llm_memory.index.embedding.ports import Embedder
from ...llm_memory.reflection.chat_port import Completion
from ...llm_memory.service.indexes import provider_embedder
from ...llm_memory.service.parts import Parts
from .package_installer import BUNDLED_MODELS, is_installed

AUTO = "auto"
BUNDLED = "bundled"
LEXICAL = "lexical"
_LOCAL_MODELS_NEED = "sentence-transformers"
_CHAT, _RERANK = "chat_completion", "rerank"
"""AstrBot's ``ProviderType``."""
_TEXTS_A_CALL = 10
"""Common services refuse longer lists."""


@dataclass(frozen=True)
class AstrBotEmbedding:
    """An embedding provider."""

    context: Any
    provider_id: str

    @property
    def label(self) -> str:
        return f"provider:{self.provider_id}"

    @property
    def model(self) -> str:
        """The model that the provider is configured with now."""
        provider = self.context.get_provider_by_id(self.provider_id)
        return str(provider.get_model() or "") if provider is not None else ""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text. Whatever the provider raises passes through to the checked wrapper."""
        provider = self.context.get_provider_by_id(self.provider_id)
        if provider is None:
            raise LookupError(f"embedding provider {self.provider_id} is gone")
        vectors: list[Sequence[float]] = []
        for part in batched(texts, _TEXTS_A_CALL):
            vectors += await provider.get_embeddings(list(part))
        return vectors


@dataclass(frozen=True)
class AstrBotReranker:
    """A rerank provider, for the port Reranker. ``label``: its id."""

    context: Any
    label: str

    @property
    def provider(self) -> Any:
        return loaded_provider(self.context, self.label, _RERANK)

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One score a text, in their order. Raises RerankFailed for a provider that is gone; what
        it raises, and a KeyError where a text has no score, pass through."""
        if (provider := self.provider) is None:
            raise RerankFailed("gone")
        results = await provider.rerank(query, list(texts), len(texts))
        scores = {result.index: result.relevance_score for result in results}
        return [scores[place] for place in range(len(texts))]


@dataclass(frozen=True)
class AstrBotChat:
    """For the port ChatModel: the conversation's own model, or the one that the setting names,
    which is never replaced by another, for that would be paid, too. No hook fires, and how often a
    failed call is tried again is up to the caller."""

    context: Any
    label: str

    def is_there(self, conversation: str) -> bool:
        if self.label != AUTO:
            return loaded_provider(self.context, self.label, _CHAT) is not None
        there = bool(self.context.provider_manager.provider_insts)
        return there and (not conversation or answers_itself(self.context, conversation))

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        if not self.is_there(conversation):
            raise ChatFailed("gone")
        try:
            chosen = self.label
            if chosen == AUTO:
                chosen = await self.context.get_current_chat_provider_id(umo=conversation)
            asked = {"prompt": prompt, "system_prompt": system, "request_max_retries": 1}
            response = await self.context.llm_generate(chat_provider_id=chosen, **asked)
        except Exception as error:
            raise _translated(error) from error
        if response.role == "err":
            raise ChatFailed("failed: err")
        tokens = response.usage.total if response.usage is not None else None
        return Completion(response.completion_text or "", tokens, model=chosen)


def loaded_provider(context: Any, provider_id: str, kind: str) -> Any:
    """The provider of one of AstrBot's kinds that is loaded now, None for none."""
    # Not get_provider_by_id, which logs a warning each time that there is none.
    provider = context.provider_manager.inst_map.get(provider_id)
    try:
        is_one = provider is not None and provider.meta().provider_type.value == kind
    except ValueError:  # the plugin that brought its type was unloaded
        is_one = False
    return provider if is_one else None


def choose_embedder(context: Any, wanted: str, parts: Parts) -> Embedder | None:
    """The one that the setting names; ``auto`` takes the best that is there, None for words alone.
    It stays until the configuration changes: an outage is no reason to compare with other vectors.
    The bundled one is None, too, where it has no process to live in."""
    known = [str(one.meta().id) for one in context.get_all_embedding_providers()]
    if wanted == LEXICAL:
        return None
    if wanted in known or (wanted == AUTO and known):
        provider_id = wanted if wanted in known else known[0]
        return provider_embedder(AstrBotEmbedding(context, provider_id), parts.settings)
    if wanted == BUNDLED:
        return parts.bundled
    if wanted != AUTO:
        return parts.local(wanted)
    # The slim zip does not name the package; the owner may have installed it all the same.
    model = first_model(parts.paths.models, torch=is_installed(_LOCAL_MODELS_NEED))
    if model is not None:
        return parts.local(str(model))
    return parts.bundled if any(map(is_installed, BUNDLED_MODELS)) else None


def answers_itself(context: Any, umo: str) -> bool:
    """True where a model of AstrBot answers. A third-party runner has a model of its own, and gets
    the prompt and nothing beside it."""
    runner = context.get_config(umo=umo).get("agent_runner") or {}
    return bool(runner.get("runner_type", "local") == "local")


def _translated(error: Exception) -> ChatFailed:
    """By kind and number alone: a service's own words may quote a key, or what was asked."""
    kind = type(error).__name__
    if kind == "EmptyModelOutputError":
        return ChatFailed("empty")
    status = "".join(re.findall(r"(?<!\d)[45]\d\d(?!\d)", str(error))[:1])
    code = "timeout" if "Timeout" in kind else "refused" if status == "429" else "failed"
    return ChatFailed(f"{code}: {kind} {status}".rstrip())
