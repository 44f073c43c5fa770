"""The calls that go from one process to another, and how their values are written as JSON.

A port spells each method once, beside the service that has it. ``forwarding`` makes an object with
these methods, and pydantic reads their annotations, so a value is checked where it arrives.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin, get_type_hints

from ..errors import InvalidConversationId
from ..models.conversation import Actor, ConversationId
from ..models.data_models import MemoryDraft, Source
from ..models.tasks import TaskChange
from ..models.workflow import is_role
from .ports import OwnerMemory, SharedMemory

if TYPE_CHECKING:
    from pydantic import TypeAdapter

AGENT: Final = "mcp:agent"
"""The person that coding agents are: their words are nobody's whom the store knows."""
PORTS: Final[tuple[type, ...]] = (SharedMemory, OwnerMemory)
"""No two of them have a method of one name."""
NO_SUCH_CALL: Final = "no such call"
"""Begins the answer to a call that an owner does not know."""
_LONGEST_NAME: Final = 40
_LONGEST_KEY: Final = 100

type Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Makes a call by its name and its arguments by their names."""


class BadCall(Exception):
    """The call cannot be made; the text says why."""


@dataclass(frozen=True, slots=True)
class Call:
    """One method: its parameters, and what it may answer, by the names of the types."""

    parameters: Mapping[str, TypeAdapter[Any]]
    required: frozenset[str]
    answers: Mapping[str, TypeAdapter[Any]]


def port_of(name: str, ports: Iterable[type] = PORTS) -> type:
    """Returns the port that has a call of this name. Raises BadCall where none has."""
    for port in ports:
        if name in _calls_of(port):
            return port
    raise BadCall(f"{NO_SUCH_CALL}: {name}")


@cache
def call(name: str) -> Call:
    """Raises BadCall for a name that is none."""
    from pydantic import TypeAdapter

    method = getattr(port_of(name), name)
    hints = get_type_hints(method)
    answer = hints.pop("return")
    if get_origin(answer) is Awaitable:  # as deeds are declared
        answer = get_args(answer)[0] or type(None)
    answers = get_args(answer) if isinstance(answer, UnionType) else (answer,)
    taken = inspect.signature(method).parameters
    hints["conversation_id"] = str | dict[str, str]
    return Call(
        {parameter: TypeAdapter(hint) for parameter, hint in hints.items()},
        frozenset(n for n, one in taken.items() if n != "self" and one.default is one.empty),
        {one.__name__: TypeAdapter(one) for one in answers},
    )


def forwarding(ask: Ask, port: type) -> Any:
    """Returns an object that has the methods of ``port`` and answers each by ``ask``."""

    def method(name: str) -> Callable[..., Awaitable[Any]]:
        bind = inspect.signature(getattr(port, name)).bind

        def asking(*arguments: Any, **named: Any) -> Awaitable[Any]:
            _, *given = bind(None, *arguments, **named).arguments.items()  # without ``self``
            return ask(name, dict(given))

        return asking

    return SimpleNamespace(**{name: method(name) for name in _calls_of(port)})


def _calls_of(port: type) -> list[str]:
    verbs = [name for name, method in vars(port).items() if inspect.isfunction(method)]
    return [name for name in verbs if not name.startswith("_")]


def encode_arguments(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what ``decode_arguments`` reads."""
    known = call(name).parameters
    where: ConversationId = arguments["conversation_id"]
    # A role is a persona, which a umo cannot say.
    said = {"umo": where.umo, "role": where.persona} if where.persona else where.umo
    plain = {**arguments, "conversation_id": said}
    return {key: known[key].dump_python(value, mode="json") for key, value in plain.items()}


def decode_arguments(name: str, raw: object) -> dict[str, Any]:
    """Returns the arguments as an agent may give them: it acts for itself alone, vouches for
    nothing, and speaks in a conversation of its own. Raises BadCall."""
    known = call(name)
    if not isinstance(raw, Mapping):
        raise BadCall("the arguments are no object")
    if unknown := sorted(set(map(str, raw)) - set(known.parameters)):
        raise BadCall(f"unknown argument: {unknown[0]}")
    if missing := sorted(known.required - set(raw)):
        raise BadCall(f"missing argument: {missing[0]}")
    try:
        values = {key: known.parameters[key].validate_python(value) for key, value in raw.items()}
        where = _conversation(values["conversation_id"])
    except (InvalidConversationId, ValueError) as error:
        raise BadCall(f"{type(error).__name__} in the arguments of {name}") from error
    if not where.is_agent:
        raise BadCall("not the conversation of a coding agent")
    values["conversation_id"] = where
    if isinstance(values.get("actor"), Actor):
        values["actor"] = as_agent(values["actor"])
    if isinstance(values.get("draft"), MemoryDraft):
        values["draft"] = _as_agents(values["draft"])
    if isinstance(values.get("change"), TaskChange):
        values["change"] = replace(values["change"], heard=None, talk="")
    return values


def _conversation(said: str | dict[str, str]) -> ConversationId:
    """Raises InvalidConversationId, and BadCall for what is no role."""
    if isinstance(said, str):
        return ConversationId.parse(said)
    if set(said) != {"umo", "role"} or not is_role(said["role"]):
        raise BadCall("not the conversation of a role")
    return replace(ConversationId.parse(said["umo"]), persona=said["role"])


def as_agent(actor: Actor | None) -> Actor:
    """Returns the agent under the name that its program gave."""
    return Actor(AGENT, actor.name[:_LONGEST_NAME] if actor else "")


def _as_agents(draft: MemoryDraft) -> MemoryDraft:
    return replace(
        draft,
        source=Source.TOOL,
        actor=as_agent(draft.actor),
        heard=None,
        said_at=None,
        talk="",
        key=draft.key[:_LONGEST_KEY],
    )


def encode_answer(name: str, value: object) -> dict[str, Any]:
    """Returns what ``decode_answer`` reads: the name of the value's type, and the value."""
    kind = type(value).__name__
    return {"type": kind, "value": call(name).answers[kind].dump_python(value, mode="json")}


def decode_answer(name: str, raw: object) -> Any:
    """Raises BadCall for what is no answer to this call."""
    answers = call(name).answers
    answer = raw if isinstance(raw, Mapping) else {}
    kind = answer.get("type")
    if not isinstance(kind, str) or kind not in answers:
        raise BadCall(f"no answer to {name}")
    try:
        return answers[kind].validate_python(answer.get("value"))
    except ValueError as error:
        raise BadCall(f"a damaged answer to {name}") from error
