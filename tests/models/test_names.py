"""Names of scopes and folders of personas, on any disk."""

from __future__ import annotations

import re
import tempfile
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import InvalidScope
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Topic
from astrbot_plugin_scoped_memory.llm_memory.models.scope import (
    MAX_SCOPE_LENGTH,
    PUBLIC,
    SHARED,
    Place,
    Scope,
    ScopeFilter,
    may_be_given,
    role_folder,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import read_scope_map
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 11, 21, tzinfo=UTC)
HAN = [chr(code) for code in range(0x4E00, 0x9FFF + 1)]
ALIKE = "public-x 家 家人 家人- 家人2 a A archive _ --".split()  # noqa: SIM905
spelt = st.one_of(
    st.sampled_from([*ALIKE, "a" * 64, "A" * 64]),
    st.from_regex(r"[a-zA-Z0-9\u4e00-\u9fff_-]{1,64}", fullmatch=True),
)


@given(
    st.lists(spelt, min_size=1, max_size=6, unique=True),
    st.sets(spelt.filter(may_be_given), max_size=4),
)
@settings(max_examples=max(5, settings().max_examples // 4))
def test_names_stay_apart_on_disk_and_a_folder_keeps_its_own(
    names: list[str], folders: set[str]
) -> None:
    found = read_scope_map({name: name for name in names}, folders).entries.values()
    scopes = [scope for scope in found if isinstance(scope, Scope)]
    for scope in scopes:
        clashing = {one for one in folders if one.lower() == scope.name.lower()}
        assert not clashing or scope.name in clashing
    scopes = [one for one in scopes if one.name not in folders]
    assert len({scope.name.lower() for scope in scopes}) == len(scopes)
    with tempfile.TemporaryDirectory() as folder:
        vault = MarkdownVault(Path(folder))
        vault.open()
        for number, scope in enumerate(scopes):
            vault.append(scope, Topic.ENTITIES, Memory(f"m-0000{number}", scope.name, NOW))
        assert set(vault.scopes()) == set(scopes)
        for scope in scopes:
            content = vault.read(scope)
            assert [stored.memory.judgment for stored in content.memories] == [scope.name]
            assert content.broken == ()


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_a_disk_that_rewrites_names_leaves_every_legal_character_alone(form: str) -> None:
    """macOS may store a name decomposed: é as e and an accent. Case is folded in ASCII only."""
    text = "".join(HAN) + "abcXYZ019_-"
    assert unicodedata.normalize(form, text) == text  # type: ignore[arg-type]
    assert [sign for sign in HAN if sign.lower() != sign or sign.upper() != sign] == []
    for name in (
        "가족",
        "é",
        "ｆａｍ",
        "家\u0301",
        "\uf900",
        *(f"家人{end}" for end in './\\:*?"| '),
    ):
        with pytest.raises(InvalidScope):
            Scope.parse(name, derived=True)


def test_the_longest_names_fit_into_a_folder_and_into_a_path_of_windows() -> None:
    scope = Scope.parse("家" * MAX_SCOPE_LENGTH)
    assert len(scope.name.encode()) <= 255
    longest = max(f"{topic}-99.md" for topic in Topic)
    inside = rf"data\plugin_data\astrbot_plugin_scoped_memory\memory\scopes\{scope.name}"
    neighbour = rf"\archive\journal\.{'0' * 16}.tmp"
    longest = max(rf"\archive\{longest}", r"\archive\journal\2026-11-21-99.md", neighbour, key=len)
    assert len(inside + longest) == 162  # as docs/small-servers.md says


TRICKY = [
    "shared", "@shared", "@role:a", "public", "a", "A", "a/b", "a%2Fb", "a%252Fb", "..", ".", "...",
    "con", "CON", "con.md", "console", "a.", "a ", " a", "a\n", "%", "%~", "%~" + "0" * 20, "é",
    "e\u0301", "/\u0301", ".\u0301", "Å", "\u212b", "ﬁ", "猫" * 300, "猫" * 299, "\ud800", "\0",
    "家人", "quarantine", "dm-x", "＠shared", "*", "a\u200bb", "a:b", "a\\b", "nul", "com1", "com¹",
]  # fmt: skip
personas = st.one_of(st.text(min_size=1), st.sampled_from(TRICKY), st.text("aAé/.% ~", min_size=1))


@given(personas, personas)
def test_two_personas_never_share_a_shelf_whose_folder_leads_back_to_it(
    one: str, other: str
) -> None:
    folder, shelf = role_folder(one), Place.of_role(one)
    assert (shelf == Place.of_role(other)) is (one == other)
    reader = ScopeFilter.reading_as(PUBLIC, shelves=(shelf,))
    assert reader.admits(Place.of_role(other).name) is (one == other)
    for name in (shelf.name, SHARED.name):
        with pytest.raises(InvalidScope):
            Scope.parse(name, derived=True)
    assert shelf.folder == f"roles/{folder}"
    assert 0 < len(folder.encode()) <= 255
    assert not re.search(r'[\x00-\x1f/\\:*?"<>|]|^[ .]|[ .]$', folder)
    assert not re.fullmatch(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", folder)
    assert unicodedata.normalize("NFC", folder) == folder
    assert Place.of_folder(folder) == Place.of_folder(unicodedata.normalize("NFD", folder)) == shelf


def test_a_plain_name_is_its_own_folder_and_another_is_written_as_in_an_address() -> None:
    for name in ("default", "猫娘", "Dr House", "さくら", "é", "v1.2", "a_b-c"):
        assert role_folder(name) == name
    escaped = {"a/b": "a%2Fb", "100%": "100%25", ".x": "%2Ex", "x ": "x%20", "con": "%63%6F%6E"}
    assert {name: role_folder(name) for name in escaped} == escaped
    for name in ("a b.", "%41", "a%2fb", "%zz", "con", "%~", "x%~12", ""):
        assert Place.of_folder(name) is None


def test_what_is_neither_a_scope_nor_a_shelf_is_no_place() -> None:
    for name in ("@shared ", "@role:", "@role:con", "@person:1", "@", "a@b", 1):
        with pytest.raises(InvalidScope):
            Place(name)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        SHARED.name = "public"  # type: ignore[misc]
