"""What crosses to the process that holds Chroma arrives as it was, and nothing else arrives."""

import enum
import io
import os
import pickle
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import (
    EmbeddingFailed,
    IndexFull,
    IndexUnavailable,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.vector.messages import next_message, packed
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import (
    IndexRecord,
    Neighbour,
    Neighbours,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import (
    PUBLIC,
    ROOT_NOTES,
    SHARED,
    Place,
    Scope,
    ScopeFilter,
)

pytestmark = pytest.mark.unit

ANY = st.text(st.characters(exclude_categories=()), max_size=30)  # half surrogate pairs, too
KEYS = st.builds(Key, ANY, ANY)
FIELDS = st.dictionaries(ANY, ANY | st.booleans() | st.integers() | st.floats(-1, 1), max_size=3)


class Word(enum.StrEnum):
    CAT = "猫"


def across(message: object) -> object:
    return next_message(io.BytesIO(packed(message)))


@given(
    st.lists(st.builds(IndexRecord, KEYS, ANY, ANY, FIELDS), max_size=3),
    st.builds(Fingerprint, ANY, st.integers(1, 5000), ANY),
    st.builds(Neighbours, st.tuples(st.builds(Neighbour, KEYS, st.floats(-1, 1))), st.integers()),
)
def test_values_arrive(
    records: list[IndexRecord], fingerprint: Fingerprint, neighbours: Neighbours
) -> None:
    values = (1, "query", (records, fingerprint, neighbours))
    assert across(values) == values


FILTERS = (
    ScopeFilter.reading_as(PUBLIC),
    ScopeFilter.reading_as(Scope.parse("dm-家", derived=True), shelves=(SHARED,)),
    ScopeFilter.reading_as(PUBLIC, shelves=(SHARED, ROOT_NOTES, Place.of_role("猫/娘 con"))),
    ScopeFilter((PUBLIC,), everything=True),
)


def test_filters_vectors_and_what_is_nearly_a_plain_value_arrive() -> None:
    assert across(FILTERS) == FILTERS
    rows = np.random.default_rng(1).normal(size=(3, 4))
    for some in (rows, rows[0], rows[:, 1]):
        assert np.array_equal(across(some), some.astype(np.float32))  # type: ignore[arg-type]
    text, number = across((Word.CAT, np.float64(0.5)))  # type: ignore[misc]
    assert (type(text), text, type(number), number) == (str, "猫", float, 0.5)


@pytest.mark.parametrize(
    "error", [IndexUnavailable("no", code="busy"), IndexFull("no"), EmbeddingFailed("died: no")]
)
def test_errors_arrive_with_their_codes(error: IndexUnavailable | EmbeddingFailed) -> None:
    heard = across(error)
    assert isinstance(heard, type(error))
    assert (str(heard), heard.code) == (str(error), error.code)


class Impostor(Scope):
    pass


@pytest.mark.parametrize("other", [OrderedDict(), os.system, io.BytesIO, Impostor.parse("x")])
def test_nothing_else_is_sent_or_made(other: object) -> None:
    with pytest.raises(TypeError):
        packed(other)
    with pytest.raises(pickle.UnpicklingError):
        next_message(io.BytesIO(pickle.dumps((os.system, 1))))


def test_no_scope_is_made_of_an_illegal_name() -> None:
    told = packed(Scope.parse("abc")).replace(b"abc", b"a/c")
    with pytest.raises(Exception, match="illegal scope name"):
        next_message(io.BytesIO(told))


def test_half_a_message_is_none() -> None:
    whole = packed({"a": [1, "b" * 300]})
    for cut in range(len(whole)):
        with pytest.raises((EOFError, pickle.UnpicklingError)):
            next_message(io.BytesIO(whole[:cut]))
