"""What goes from one process to another arrives as it was: every call, and every answer to it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    MemoryDraft,
    Recall,
    Reinforced,
    Rejected,
    Replaced,
    Source,
    Stored,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import RememberOutcome
from astrbot_plugin_scoped_memory.llm_memory.models.recall import FileText, PointerNotVisible
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.tasks import TaskChange, TaskReport
from astrbot_plugin_scoped_memory.llm_memory.primer.models import Overview
from astrbot_plugin_scoped_memory.llm_memory.service.cognitive_service import CognitiveService
from astrbot_plugin_scoped_memory.llm_memory.sharing.calls import (
    AGENT,
    BadCall,
    as_agent,
    call,
    decode_answer,
    decode_arguments,
    encode_answer,
    encode_arguments,
)
from astrbot_plugin_scoped_memory.llm_memory.sharing.ports import SharedMemory
from astrbot_plugin_scoped_memory.llm_memory.sharing.remote_memory import RemoteMemory

pytestmark = [pytest.mark.unit, pytest.mark.property]

SITE = ConversationId.parse("mcp:project:site")
CALLS = sorted(
    name for name in vars(SharedMemory) if inspect.iscoroutinefunction(getattr(SharedMemory, name))
)


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
    if origin in (Union, UnionType):
        return st.one_of([any_of(one) for one in inside])
    if origin is tuple:
        return st.lists(any_of(inside[0]), max_size=2).map(tuple)
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


ANSWERED_BY = {
    Stored: "remember",
    Reinforced: "remember",
    Replaced: "remember",
    Rejected: "remember",
    Recall: "recall",
    TaskReport: "update_tasks",
    FileText: "read",
    PointerNotVisible: "read",
    Overview: "overview",
    type(None): "refresh_overview",
}
ARGUMENTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    name: {
        key: any_of(hint)
        for key, hint in get_type_hints(getattr(SharedMemory, name)).items()
        if key not in ("conversation_id", "return")
    }
    for name in CALLS
}


def sent(value: object) -> Any:
    """As it is read on the other side."""
    return json.loads(json.dumps(value))


def test_every_call_and_answer_is_tried() -> None:
    for name in CALLS:
        named = {kind.__name__ for kind, asked in ANSWERED_BY.items() if asked == name}
        assert set(call(name).answers) <= named | {"Rejected"}
    assert {*get_args(RememberOutcome)} <= set(ANSWERED_BY)


@pytest.mark.parametrize("name", CALLS)
def test_owner_and_follower_have_the_methods_of_the_service(name: str) -> None:
    port = inspect.signature(getattr(SharedMemory, name)).parameters
    remote = inspect.signature(getattr(RemoteMemory, name)).parameters
    service = inspect.signature(getattr(CognitiveService, name)).parameters
    assert list(port) == list(remote)
    assert all(port[one].default == remote[one].default == service[one].default for one in port)
    extra = [service[one] for one in service if one not in port]
    assert all(one.default is not one.empty for one in extra)


@pytest.mark.parametrize("kind", ANSWERED_BY, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_an_answer_arrives_as_it_was(kind: type, data: st.DataObject) -> None:
    name, value = ANSWERED_BY[kind], data.draw(any_of(kind))
    arrived = decode_answer(name, sent(encode_answer(name, value)))
    assert arrived == value
    assert type(arrived) is kind


@given(any_of(Rejected))
def test_a_refused_change_of_tasks_arrives_as_it_was(value: Rejected) -> None:
    assert decode_answer("update_tasks", sent(encode_answer("update_tasks", value))) == value


@pytest.mark.parametrize("name", CALLS)
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


def assert_the_agents(draft: MemoryDraft, was: MemoryDraft) -> None:
    """All of it is as it was but for what an agent cannot say of itself."""
    assert draft.source is Source.TOOL
    assert (draft.heard, draft.said_at) == (None, None)
    assert draft.actor == as_agent(was.actor)
    assert was.key.startswith(draft.key)
    same = plain(draft).keys() - {"source", "heard", "said_at", "actor", "key"}
    assert {key: plain(draft)[key] for key in same} == {key: plain(was)[key] for key in same}


json_values = st.recursive(
    st.none() | flags | numbers | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(name=st.sampled_from(CALLS) | st.text(max_size=12), raw=json_values)
def test_any_json_is_a_call_or_a_bad_one(name: str, raw: object) -> None:
    if isinstance(raw, dict):
        raw = {"conversation_id": str(SITE), **raw}
    try:
        decode_arguments(name, raw)
    except BadCall as error:
        assert str(error)


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


@pytest.mark.parametrize("kind", ANSWERED_BY, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_an_answer_with_one_fault_is_one_or_a_bad_one(kind: type, data: st.DataObject) -> None:
    name = ANSWERED_BY[kind]
    message = sent(encode_answer(name, data.draw(any_of(kind))))
    try:
        arrived = decode_answer(name, with_one_fault(data, message))
    except BadCall as error:
        assert str(error)
    else:
        assert encode_answer(name, arrived)


@given(name=st.sampled_from(CALLS), raw=json_values, kind=st.text(max_size=9))
def test_any_json_is_an_answer_or_a_bad_one(name: str, raw: object, kind: str) -> None:
    for whole in (raw, {"type": kind, "value": raw}):
        try:
            decode_answer(name, whole)
        except BadCall as error:
            assert str(error)
    for known in call(name).answers:
        try:
            decode_answer(name, {"type": known, "value": raw})
        except BadCall as error:
            assert str(error)
