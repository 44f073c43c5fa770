"""Names and ids: legal for Chroma, different for different things, and back again."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.vector.names import (
    collection_name,
    dimension_of,
    parse_id,
    record_id,
)
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key

pytestmark = pytest.mark.unit

LEGAL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
FINGERPRINTS = st.builds(Fingerprint, st.text(max_size=600), st.integers(1, 100_000), st.text())


def test_a_collection_is_named_for_people_first() -> None:
    name = collection_name(Fingerprint("BAAI/bge-small-zh_v1.5 模型", 512, "r1"))
    assert re.fullmatch(r"memories-BAAI-bge-small-zh-v1-5-512-[0-9a-f]{16}", name)


@given(FINGERPRINTS)
def test_every_fingerprint_has_a_legal_name_that_tells_its_dimension(space: Fingerprint) -> None:
    name = collection_name(space)
    assert LEGAL.fullmatch(name)
    assert dimension_of(name) == space.dim
    assert collection_name(space) == name


@example(Fingerprint("模型", 8), Fingerprint("别的", 8))
@example(Fingerprint("a/b", 8), Fingerprint("a-b", 8))
@example(Fingerprint("a-8", 8), Fingerprint("a", 88))
@example(Fingerprint("x" * 70 + "a", 8), Fingerprint("x" * 70 + "b", 8))
@given(FINGERPRINTS, FINGERPRINTS)
def test_different_fingerprints_have_different_names(one: Fingerprint, two: Fingerprint) -> None:
    assert (collection_name(one) == collection_name(two)) == (one == two)


@pytest.mark.parametrize("name", ["", "personal_memory_v1", "memories-a-8", "memories-a-8-xyz"])
def test_a_foreign_name_tells_no_dimension(name: str) -> None:
    assert dimension_of(name) is None


@given(st.text("a/b家-", min_size=1, max_size=6))
def test_every_id_is_some_key_and_comes_back(identifier: str) -> None:
    assert record_id(parse_id(identifier)) == identifier


@given(st.text("aA家-_", min_size=1, max_size=4), st.text("a/b家-", min_size=1, max_size=6))
def test_every_key_comes_back_from_its_id(scope: str, memory_id: str) -> None:
    assert parse_id(record_id(Key(scope, memory_id))) == Key(scope, memory_id)


@pytest.mark.parametrize(
    "key", [Key("", "a/b"), Key("a/b", "c"), Key("a", ""), Key("", ""), Key("/", "a")]
)
def test_a_key_that_could_be_taken_for_another_is_refused(key: Key) -> None:
    with pytest.raises(ValueError, match="no key"):
        record_id(key)
