"""What goes from one process to another arrives as it was: every call, and every answer to it."""

from __future__ import annotations

import contextlib
import inspect
import json
from collections import Counter
from collections.abc import Awaitable, Mapping
from dataclasses import is_dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeAliasType, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    MemoryDraft,
    Source,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.tasks import TaskChange
from astrbot_plugin_scoped_memory.llm_memory.sharing.calls import (
    AGENT,
    PORTS,
    BadCall,
    as_agent,
    call,
    decode_answer,
    decode_arguments,
    encode_answer,
    encode_arguments,
    forwarding,
)
from astrbot_plugin_scoped_memory.llm_memory.sharing.ports import OwnerMemory

pytestmark = [pytest.mark.unit, pytest.mark.property]

few = settings(max_examples=max(5, settings().max_examples // 3))
SITE = ConversationId.parse("mcp:project:site")
SPOKEN = {
    name: port
    for port in PORTS
    for name in sorted(vars(port))
    if inspect.isfunction(getattr(port, name)) and not name.startswith("_")
}
CALLS = list(SPOKEN)


def plain(value: Any) -> dict[str, Any]:
    """The fields of a dataclass with slots."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
flags = st.booleans()
numbers = st.integers(-(2**40), 2**40)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
PLAIN: dict[object, st.SearchStrategy[Any]] = {
    type(None): st.none(),
    str: words,
    bool: flags,
    int: numbers,
    float: st.floats(0, 1),
    date: st.dates(),
    datetime: st.datetimes(
        datetime.fromisoformat("0001-01-02"),
        datetime.fromisoformat("9999-12-30"),
        timezones=zones | st.just(UTC),
    ),
    timedelta: st.timedeltas(timedelta(0), timedelta(days=9_999)),
    Scope: st.sampled_from(["public", "家人", "project-x", "dm-x", "group-1", "quarantine"]).map(
        lambda name: Scope.parse(name, derived=True)
    ),
}


@cache
def any_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that is sent: of each field of a dataclass, too."""
    origin, inside = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if isinstance(hint, TypeAliasType):
        return any_of(hint.__value__)
    if origin is Literal:
        return st.sampled_from(inside)
    if origin in (Union, UnionType):
        return st.one_of([any_of(one) for one in inside])
    if origin is tuple and inside[-1] is not ...:
        return st.tuples(*map(any_of, inside))
    if origin in (tuple, list, frozenset):
        return st.lists(any_of(inside[0]), max_size=2).map(origin)
    if origin is Counter:
        return st.dictionaries(any_of(inside[0]), PLAIN[int], max_size=2).map(Counter)
    if origin in (dict, Mapping):
        return st.dictionaries(*map(any_of, inside), max_size=2)
    if is_dataclass(hint):
        return any_dataclass(hint)
    return st.sampled_from(hint)


def any_dataclass(kind: Any) -> st.SearchStrategy[Any]:
    """With values in every field; what holds others of its kind holds some that hold none."""
    hints = get_type_hints(kind)
    nested = [name for name, hint in hints.items() if hint == tuple[kind, ...]]
    alone = st.builds(kind, **{name: any_of(hints[name]) for name in hints.keys() - nested})
    some = st.lists(alone, max_size=2).map(tuple)
    return st.builds(replace, alone, **dict.fromkeys(nested, some)) if nested else alone


def answers_of(name: str) -> tuple[type, ...]:
    """What the port says that a call answers."""
    answer = get_type_hints(getattr(SPOKEN[name], name))["return"]
    if get_origin(answer) is Awaitable:
        answer = get_args(answer)[0] or type(None)
    return get_args(answer) if isinstance(answer, UnionType) else (answer,)


ANSWERS = [(name, kind) for name in CALLS for kind in answers_of(name)]
ARGUMENTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    name: {
        key: any_of(hint)
        for key, hint in get_type_hints(getattr(SPOKEN[name], name)).items()
        if key not in ("conversation_id", "return")
    }
    for name in CALLS
}


def sent(value: object) -> Any:
    """As it is read on the other side."""
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("name", CALLS)
async def test_what_forwards_asks_by_the_names_of_the_port(name: str) -> None:
    async def ask(name: str, arguments: dict[str, Any]) -> Any:
        return name, arguments

    port = inspect.signature(getattr(SPOKEN[name], name)).parameters
    given = {one: object() for one in port if one != "self"}
    first = [one for one, about in port.items() if about.kind is about.POSITIONAL_OR_KEYWORD][1:]
    by_place = [given[one] for one in first]
    by_name = {one: value for one, value in given.items() if one not in first}
    method = getattr(forwarding(ask, SPOKEN[name]), name)
    assert await method(*by_place, **by_name) == (name, given)
    for wrong in ({**given, "token": ""}, {}):
        with pytest.raises(TypeError):
            await method(**wrong)


@pytest.mark.parametrize(("name", "kind"), ANSWERS)
@few
@given(data=st.data())
def test_an_answer_arrives_as_it_was(name: str, kind: type, data: st.DataObject) -> None:
    value = data.draw(any_of(kind))
    arrived = decode_answer(name, sent(encode_answer(name, value)))
    assert arrived == value
    assert type(arrived) is kind


@pytest.mark.parametrize("name", CALLS)
@few
@given(data=st.data())
def test_a_call_arrives_as_the_agents_own(name: str, data: st.DataObject) -> None:
    arguments = {key: data.draw(made) for key, made in ARGUMENTS[name].items()}
    whole = {**arguments, "conversation_id": SITE}
    arrived = decode_arguments(name, sent(encode_arguments(name, whole)))
    assert arrived.pop("conversation_id") == SITE
    assert arrived.keys() == arguments.keys()
    for key, value in arrived.items():
        if isinstance(value, MemoryDraft):
            assert_the_agents(value, arguments[key])
        elif isinstance(value, TaskChange):
            assert value == TaskChange(*list(plain(arguments[key]).values())[:4])
        elif isinstance(value, Actor):
            assert value == as_agent(arguments[key])
            assert (value.person, value.admin, value.spoke) == (AGENT, False, True)
            assert arguments[key].name.startswith(value.name)
        else:
            assert value == arguments[key]


def test_a_role_travels_with_the_conversation() -> None:
    as_role = replace(SITE, persona="后端")
    message = sent(encode_arguments("read", {"where": "x", "conversation_id": as_role}))
    assert decode_arguments("read", message)["conversation_id"] == as_role


@pytest.mark.parametrize(
    "said",
    [
        {"umo": "aiocqhttp:GroupMessage:1", "role": "qa"},
        {"umo": str(SITE), "role": "../qa"},
        {"umo": str(SITE)},
        {"umo": str(SITE), "role": "qa", "scope": "家人"},
    ],
)
def test_what_is_no_conversation_of_a_role_is_refused(said: dict[str, str]) -> None:
    with pytest.raises(BadCall):
        decode_arguments("read", {"where": "x", "conversation_id": said})


def assert_the_agents(draft: MemoryDraft, was: MemoryDraft) -> None:
    """All of it is as it was but for what an agent cannot say of itself."""
    assert draft.source is Source.TOOL
    assert (draft.heard, draft.said_at, draft.talk) == (None, None, "")
    assert draft.actor == as_agent(was.actor)
    assert was.key.startswith(draft.key)
    same = plain(draft).keys() - {"source", "heard", "said_at", "talk", "actor", "key"}
    assert {key: plain(draft)[key] for key in same} == {key: plain(was)[key] for key in same}


@pytest.mark.parametrize("name", [name for name in CALLS if SPOKEN[name] is OwnerMemory])
@pytest.mark.parametrize("smuggled", ["actor", "for_good", "scope", "scope_name", "trusted"])
def test_no_owners_call_says_who_asks_or_in_which_scope(name: str, smuggled: str) -> None:
    raw = {"conversation_id": str(SITE), "memory_id": "m-1234", "text": "x", "limit": 1}
    raw["change"] = {"action": "list", "everything": True}
    raw = {key: raw[key] for key in raw if key in call(name).parameters}
    assert decode_arguments(name, raw)
    with pytest.raises(BadCall, match=f"unknown argument: {smuggled}"):
        decode_arguments(name, {**raw, smuggled: "owner:cli"})
    with pytest.raises(BadCall, match="coding agent"):
        decode_arguments(name, {**raw, "conversation_id": "aiocqhttp:GroupMessage:1"})


json_values = st.recursive(
    st.none() | flags | numbers | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=9,
)


def with_one_fault(data: st.DataObject, message: Any) -> Any:
    """A copy with any JSON in place of one of its values, however deep."""
    if not isinstance(message, dict | list) or not message or not data.draw(st.integers(0, 5)):
        return data.draw(json_values)
    spoiled: Any = message.copy()
    places = message if isinstance(message, dict) else range(len(message))
    place = data.draw(st.sampled_from(list(places)))
    spoiled[place] = with_one_fault(data, spoiled[place])
    return spoiled


@pytest.mark.parametrize("name", CALLS)
@few
@given(data=st.data())
def test_a_call_with_one_fault_is_a_call_or_a_bad_one(name: str, data: st.DataObject) -> None:
    arguments = {key: data.draw(made) for key, made in ARGUMENTS[name].items()}
    message = sent(encode_arguments(name, {**arguments, "conversation_id": SITE}))
    try:
        arrived = decode_arguments(name, with_one_fault(data, message))
    except BadCall as error:
        assert str(error)
    else:
        assert arrived["conversation_id"].is_agent
        drafts = [one for one in arrived.values() if isinstance(one, MemoryDraft)]
        actors = [one for one in arrived.values() if isinstance(one, Actor)]
        assert all((one.actor, one.source) == (as_agent(one.actor), Source.TOOL) for one in drafts)
        assert all(one == as_agent(one) for one in actors)


@pytest.mark.parametrize(("name", "kind"), ANSWERS)
@few
@given(data=st.data())
def test_an_answer_with_one_fault_is_one_or_a_bad_one(
    name: str, kind: type, data: st.DataObject
) -> None:
    message = sent(encode_answer(name, data.draw(any_of(kind))))
    with contextlib.suppress(BadCall):
        arrived = decode_answer(name, with_one_fault(data, message))
        assert encode_answer(name, arrived)
