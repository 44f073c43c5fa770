"""What AstrBot tells of itself: which persona is in force for an event, which accounts the bot has
now, the time in the zone that the owner gave it.

Its providers: of embeddings as engine embedders, with the choice among the rungs; of reranking; of
chat as the engine's reader of finished turns. Each is looked up at every call: providers come after
plugins, and a reload replaces the object, or takes it away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from typing import Any
from zoneinfo import ZoneInfo

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent

from ...llm_memory import local_now
from ...llm_memory.errors import ChatFailed, RerankFailed
from ...llm_memory.index.embedding.local.folder import first_model
from ...llm_memory.index.embedding.ports import Embedder
from ...llm_memory.models.soul import soul_folder
from ...llm_memory.reflection.model import Completion
from ...llm_memory.service.indexes import provider_embedder
from ...llm_memory.service.parts import Parts
from ...llm_memory.texts import Texts
from .package_installer import BUNDLED_MODELS, is_installed

AUTO = "auto"
BUNDLED = "bundled"
LEXICAL = "lexical"
_LOCAL_MODELS_NEED = "sentence-transformers"
_CHAT, _RERANK = "chat_completion", "rerank"
"""AstrBot's ``ProviderType``."""
_SERVICE_CHARS = 300
"""Behind so many, the text of an error may quote what was asked."""
_OF_STATUS = {
    **dict.fromkeys(("400", "413", "422", "451"), ("content", ("quota", "key"))),
    "401": ("key", ()),
    "402": ("quota", ()),
    "403": ("key", ("quota", "content")),
    "429": ("busy", ("quota",)),
    **dict.fromkeys(("408", "504"), ("timeout", ())),
}
"""The code of ``ChatFailed`` by the number that a service answers with, and which others its words
may say; ``failed`` for any other number."""
_SAYS = {
    code: re.compile(words, re.IGNORECASE)
    for code, words in {
        "quota": r"quota|balance|billing|arrear|overdue|payment|余额|欠费|额度",
        "key": r"api.?key|unauthori[sz]ed|authenticat|permission|密钥|鉴权|未授权",
        "busy": r"rate.?limit|too many requests|限流|频繁",
        "content": r"content.?filter|moderation|inspection|safety|sensitive|policy|flagged"
        r"|context.?length|too (?:long|large|many tokens)|内容安全|敏感|违规|过长|超长",
    }.items()
}
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
            status = getattr(error, "status_code", None) or getattr(error, "code", None)
            raise _translated(type(error).__name__, str(error), status) from error
        if response.role == "err":
            raise _translated("err", response.completion_text or "")
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
    if wanted == AUTO:
        wanted = known[0] if known else AUTO
    if wanted in known:
        return provider_embedder(AstrBotEmbedding(context, wanted), parts.settings)
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


def _translated(kind: str, said: str, number: object = None) -> ChatFailed:
    """By kind and number alone: a service's own words may quote a key, or what was asked."""
    if kind == "EmptyModelOutputError":
        return ChatFailed("empty")
    said = said[:_SERVICE_CHARS]
    status = str(number or "".join(re.findall(r"(?<!\d)[45]\d\d(?!\d)", said)[:1]))
    code, others = _OF_STATUS.get(status, ("failed", ()))
    if not status:
        code, others = "timeout" if "Timeout" in kind else "failed", tuple(_SAYS)
    code = next((other for other in others if _SAYS[other].search(said)), code)
    return ChatFailed(code, f"{kind} {status}".rstrip())


def adapter_of(context: Any, account: str) -> str | None:
    """The platform's type of a bot account, None where AstrBot knows no such account now."""
    platform = context.get_platform_inst(account)
    return str(platform.meta().name) or None if platform is not None else None


def is_admin(context: Any, person: str) -> bool:
    """True for ``<adapter>:<id>`` of one whom AstrBot calls an admin now: it goes by the id."""
    admins: list[Any] = context.get_config().get("admins_id") or []
    return person.partition(":")[2] in map(str, admins)


class PersonaReader:
    """Asks AstrBot the way its own agent does, so that every entry gets the same answer."""

    def __init__(self, context: Any, texts: Texts) -> None:
        self._context = context
        self._texts = texts

    async def __call__(self, event: AstrMessageEvent, conversation: Any = None) -> str | None:
        """The persona's id, empty for none, None if AstrBot could not tell. ``conversation``:
        AstrBot's own, where it is at hand."""
        umo, context = event.unified_msg_origin, self._context
        account = umo.split(":", 1)[0]
        try:
            if conversation is None:
                manager = context.conversation_manager
                current = await manager.get_curr_conversation_id(umo)
                conversation = await manager.get_conversation(umo, current) if current else None
            persona, *_ = await context.persona_manager.resolve_selected_persona(
                umo=umo,
                conversation_persona_id=conversation.persona_id if conversation else None,
                platform_name=adapter_of(context, account) or event.get_platform_name(),
                provider_settings=context.get_config(umo=umo).get("provider_settings", {}),
            )
        except Exception as error:  # noqa: BLE001  (AstrBot's database may raise anything)
            logger.warning(self._texts.say("log.no_persona", error=type(error).__name__))
            return None
        return "" if persona in (None, "[%None]") else str(persona)

    async def prompt(self, folder: str) -> str:
        """A persona's own prompt, by the folder of its soul; empty where AstrBot tells none."""
        try:
            manager = self._context.persona_manager
            # Older versions do not list AstrBot's own.
            names = [*(str(one["name"]) for one in manager.personas_v3), "default", ""]
            found = [name for name in names if soul_folder(name) == folder]
            persona = manager.get_persona_v3_by_id(found[0]) if found else None
            return str(persona["prompt"] or "") if persona else ""
        except Exception as error:  # noqa: BLE001  (whatever AstrBot's manager raises)
            logger.warning(self._texts.say("log.no_persona", error=type(error).__name__))
            return ""


def bot_accounts(context: Any) -> frozenset[str] | None:
    """The ids of all platforms that are switched on, and of those that run; None where AstrBot does
    not tell in a way that we know. The configuration has them from the first moment on, and a
    renamed one at once."""
    try:
        configured = context.get_config()["platform"]
        accounts = {str(one["id"]) for one in configured if one.get("enable") and one.get("id")}
        running = {inst.meta().id for inst in context.platform_manager.platform_insts}
    except (AttributeError, KeyError, TypeError):
        return None
    # The panel's own chat is no platform of the configuration, and always there.
    return frozenset({"webchat", *accounts, *(str(one) for one in running if one)})


def clock_of(context: Any) -> Callable[[], datetime]:
    """AstrBot's ``timezone`` setting, else the machine's zone: journals go by day. Looked up each
    time, for AstrBot itself goes by a changed setting at once."""

    def now() -> datetime:
        name = context.get_config().get("timezone")
        try:
            return datetime.now(ZoneInfo(str(name or "").strip()))
        except (KeyError, OSError, ValueError):  # none, unknown (a KeyError), or no data here
            return local_now()

    return now
