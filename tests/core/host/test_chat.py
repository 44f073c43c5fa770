"""AstrBot's chat models: the one that was named or the conversation's own, never another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from astrbot.core.provider.entities import LLMResponse, ProviderType, TokenUsage

from astrbot_plugin_scoped_memory.core.host.providers import AstrBotChat
from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import ChatModel, Completion
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

HERE = "qq:GroupMessage:777"


class EmptyModelOutputError(Exception):
    """AstrBot's own has this name."""


class FakeProvider:
    """A provider that AstrBot holds."""

    def __init__(self, kind: ProviderType = ProviderType.CHAT_COMPLETION) -> None:
        self._kind = kind

    def meta(self) -> Any:
        return SimpleNamespace(provider_type=self._kind)


class FakeContext:
    """As much of AstrBot's as a reader of turns asks."""

    def __init__(self, answer: Any, *names: str, runner: str = "local") -> None:
        self._answer = answer
        self._runner = runner
        self.calls: list[dict[str, Any]] = []
        held = {name: FakeProvider() for name in names}
        held["vectors"] = FakeProvider(ProviderType.EMBEDDING)
        self.provider_manager = SimpleNamespace(
            inst_map=held, provider_insts=[held[name] for name in names]
        )

    def get_config(self, umo: str) -> dict[str, Any]:
        return {"agent_runner": {"runner_type": self._runner}}

    async def get_current_chat_provider_id(self, umo: str) -> str:
        return f"own of {umo}"

    async def llm_generate(self, **asked: Any) -> Any:
        self.calls.append(asked)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def said(text: str, usage: TokenUsage | None = None) -> LLMResponse:
    """What a provider answers."""
    return LLMResponse("assistant", completion_text=text, usage=usage)


async def ask(context: FakeContext, provider_id: str = "auto") -> Completion:
    """One call for the group."""
    return await AstrBotChat(context, provider_id).complete("问", system="系", conversation=HERE)


async def test_auto_asks_the_conversations_own_model_without_history_or_a_second_try() -> None:
    context = FakeContext(said("{}"), "big", "small")
    assert await ask(context) == Completion("{}", model=f"own of {HERE}")
    assert context.calls == [
        {
            "chat_provider_id": f"own of {HERE}",
            "prompt": "问",
            "system_prompt": "系",
            "request_max_retries": 1,
        }
    ]


async def test_one_that_is_named_is_asked_for_every_conversation() -> None:
    context = FakeContext(said("{}"), "big", "small", runner="dify")
    await ask(context, "small")
    assert context.calls[0]["chat_provider_id"] == "small"


@pytest.mark.parametrize(
    ("name", "runner"), [("gone", "local"), ("vectors", "local"), ("", "local"), ("auto", "dify")]
)
async def test_one_that_is_not_there_is_never_replaced_by_another(name: str, runner: str) -> None:
    """Where another program answers, no model is the conversation's own."""
    context = FakeContext(said("{}"), "big", runner=runner)
    assert not AstrBotChat(context, name).is_there(HERE)
    assert AstrBotChat(context, name).is_there("") is (name == "auto")
    with pytest.raises(ChatFailed, match="gone"):
        await ask(context, name)
    assert context.calls == []


async def test_tokens_are_what_the_service_counted_or_not_known() -> None:
    usage = TokenUsage(input_other=7, input_cached=20, output=3)
    assert (await ask(FakeContext(said("{}", usage), "big"))).tokens == 30
    assert (await ask(FakeContext(said("{}"), "big"))).tokens is None


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("Error code: 429 - key sk-secret is limited"), "refused: RuntimeError 429"),
        (RuntimeError("Error code: 500 - sk-secret"), "failed: RuntimeError 500"),
        (ValueError("sk-secret 15001"), "failed: ValueError"),
        (TimeoutError("sk-secret"), "timeout: TimeoutError"),
        (EmptyModelOutputError("sk-secret"), "empty"),
    ],
)
async def test_whatever_goes_wrong_is_a_chat_failed_that_quotes_nothing(
    error: Exception, told: str
) -> None:
    with pytest.raises(ChatFailed) as failed:
        await ask(FakeContext(error, "big"))
    assert str(failed.value) == told


async def test_an_answer_in_the_role_of_an_error_is_one_and_the_words_of_an_answer_are_none() -> (
    None
):
    for text in ("timeout", "rate limit exceeded", "429"):
        with pytest.raises(ChatFailed, match="failed"):
            await ask(FakeContext(LLMResponse("err", completion_text=text), "big"))
        assert (await ask(FakeContext(said(text), "big"))).text == text


@pytest.fixture(params=["scripted", "astrbot"])
def model(request: pytest.FixtureRequest) -> Any:
    """A model that answers ``{}``, made by a function of whether its service is there."""

    def make(present: bool) -> ChatModel:
        if request.param == "scripted":
            fake = ScriptedChat("{}")
            fake.present = present
            return fake
        return AstrBotChat(FakeContext(said("{}"), *(["big"] if present else [])), "auto")

    return make


async def test_the_tests_model_and_astrbots_keep_to_the_same_port(model: Any) -> None:
    there, gone = model(True), model(False)
    assert there.label
    assert there.is_there(HERE)
    assert there.is_there("")
    completion = await there.complete("问", system="系", conversation=HERE)
    assert (completion.text, completion.tokens) == ("{}", None)
    assert not gone.is_there(HERE)
    assert not gone.is_there("")
    with pytest.raises(ChatFailed, match="gone"):
        await gone.complete("问", system="系", conversation=HERE)
