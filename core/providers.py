"""AstrBot's embedding providers as engine embedders, and the choice among the rungs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..llm_memory.composition import lexical_embedder, local_embedder, provider_embedder
from ..llm_memory.ports import Embedder

if TYPE_CHECKING:
    from .plugin_context import PluginContext

AUTO = "auto"
LEXICAL = "lexical"


class AstrBotEmbedding:
    """An embedding provider of AstrBot, looked up at every call: a reload replaces the object."""

    def __init__(self, context: Any, provider_id: str, model: str) -> None:
        self._context = context
        self._provider_id = provider_id
        self.label = f"provider:{provider_id}"
        self.model = model

    @property
    def dim(self) -> int:
        """What the provider is configured to give, 0 if it does not say."""
        provider = self._context.get_provider_by_id(self._provider_id)
        try:
            return int(provider.get_dim()) if provider is not None else 0
        except (TypeError, ValueError):
            return 0

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text. Whatever the provider raises passes through to the checked wrapper."""
        provider = self._context.get_provider_by_id(self._provider_id)
        if provider is None:
            raise LookupError(f"embedding provider {self._provider_id} is gone")
        vectors: Sequence[Sequence[float]] = await provider.get_embeddings(list(texts))
        return vectors


def providers_are_loaded(context: Any) -> bool:
    """True once AstrBot holds any provider: at start-up plugins come first."""
    return bool(context.provider_manager.inst_map)


def choose_embedder(plugin: PluginContext) -> Embedder:
    """The rung that the setting names; ``auto`` takes the highest that is there.

    The rung stays until the configuration changes: an outage is no reason to compare with other
    vectors.
    """
    wanted = plugin.config.embedding
    known = {_id_of(p): p for p in plugin.astrbot.get_all_embedding_providers()}
    if wanted == LEXICAL:
        return lexical_embedder()
    if wanted in known:
        return _from_provider(plugin, known[wanted])
    if wanted != AUTO:
        return local_embedder(plugin.paths, wanted, plugin.config.engine)
    if known:
        return _from_provider(plugin, next(iter(known.values())))
    model = _model_on_disk(plugin.paths.models)
    if model is not None and not any(m.package == "sentence-transformers" for m in plugin.missing):
        return local_embedder(plugin.paths, str(model), plugin.config.engine)
    return lexical_embedder()


def _from_provider(plugin: PluginContext, provider: Any) -> Embedder:
    raw = AstrBotEmbedding(plugin.astrbot, _id_of(provider), str(provider.get_model() or ""))
    return provider_embedder(raw, plugin.config.engine)


def _id_of(provider: Any) -> str:
    return str(provider.meta().id)


def _model_on_disk(folder: Path) -> Path | None:
    """The first model below ``models/``; a folder with a config.json or modules.json is one."""
    if not folder.is_dir():
        return None
    for path in sorted(folder.iterdir()):
        if any((path / name).is_file() for name in ("modules.json", "config.json")):
            return path
    return None
