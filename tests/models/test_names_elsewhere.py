"""Names of scopes on the disks of Windows and macOS, of which none is at hand here."""

from __future__ import annotations

import unicodedata

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import InvalidScope
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.models.scope import MAX_SCOPE_LENGTH, Scope

pytestmark = pytest.mark.unit

DEVICES = ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"] + [
    f"{port}{number}" for port in ("com", "lpt") for number in (*"0123456789", *"¹²³")
]
HAN = [chr(code) for code in range(0x4E00, 0x9FFF + 1)]
LONGEST_NAME = 255
"""Bytes in UTF-8 on Linux, UTF-16 units on Windows and macOS."""


def is_legal(name: str, *, derived: bool) -> bool:
    """Whether a scope may be called so."""
    try:
        Scope.parse(name, derived=derived)
    except InvalidScope:
        return False
    return True


@pytest.mark.parametrize("derived", [False, True])
@pytest.mark.parametrize("device", DEVICES)
def test_no_scope_is_called_like_a_device_of_windows(device: str, derived: bool) -> None:
    written = [device, device.upper(), device.capitalize()]
    for name in (*written, f"{device}.txt", f"{device}.", f"{device} ", f"{device}:", f" {device}"):
        assert not is_legal(name, derived=derived), name
    assert is_legal(f"{device.strip('$¹²³')}-x", derived=derived)


@pytest.mark.parametrize(
    "end", [".", "..", " ", "\u3000", "\t", "/", "\\", ":", "*", "?", '"', "|"]
)
def test_no_name_ends_with_what_windows_drops_or_forbids(end: str) -> None:
    assert not is_legal("家人" + end, derived=True)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_a_disk_that_rewrites_names_leaves_every_legal_character_alone(form: str) -> None:
    """macOS may store a name decomposed: é as e and an accent."""
    text = "".join(HAN) + "abcXYZ019_-"
    assert unicodedata.normalize(form, text) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["が", "가족", "é", "e\u0301", "ｆａｍ", "家\u0301", "\uf900", "〇"]
)
def test_a_name_that_a_disk_might_rewrite_is_illegal(name: str) -> None:
    assert not is_legal(name, derived=True)


def test_case_is_folded_in_ascii_letters_only() -> None:
    assert [sign for sign in HAN if sign.lower() != sign or sign.upper() != sign] == []


def test_the_longest_names_fit_into_a_folder_and_into_a_path_of_windows() -> None:
    scope = Scope.parse("家" * MAX_SCOPE_LENGTH)
    assert len(scope.name.encode()) <= LONGEST_NAME
    longest = max(f"{topic}-99.md" for topic in Topic)
    inside = rf"data\plugin_data\astrbot_plugin_scoped_memory\memory\scopes\{scope.name}"
    neighbour = rf"\archive\journal\.{'0' * 16}.tmp"
    longest = max(rf"\archive\{longest}", r"\archive\journal\2026-11-21-99.md", neighbour, key=len)
    assert len(inside + longest) == 162  # as docs/small-servers.md says
    assert 162 + 1 + 90 <= 259
