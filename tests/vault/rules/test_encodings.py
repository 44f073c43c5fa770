"""A file that is no UTF-8 is told by what it was probably saved as, or not at all."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.vault.rules.encodings import Encoding, likely_encoding

pytestmark = pytest.mark.unit

TEXT = "## 奶奶对花生过敏 ^m-01kamztz4ga7c2qx\n> 知识记忆 · 主动 · 强度 80\n\n在聊天里说的。\n"


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), "过敏", TEXT * 500, "公积金"])
@pytest.mark.parametrize("codec", ["gb18030", "gbk"])
def test_what_a_chinese_windows_saves_is_recognised(text: str, codec: str) -> None:
    raw = text.replace("·", "、").encode(codec)
    assert likely_encoding(raw) is Encoding.GB18030
    assert likely_encoding(raw[:-1]) in {Encoding.GB18030, None}


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_recognised_by_its_mark(codec: str) -> None:
    marked = TEXT if codec == "utf-16" else "\ufeff" + TEXT
    assert likely_encoding(marked.encode(codec)) is Encoding.UTF_16


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_torn_last_character_changes_nothing(cut: int) -> None:
    assert likely_encoding(("事情" + TEXT).encode("utf-16")[:-cut]) is Encoding.UTF_16
    assert likely_encoding("很多的事情".encode("gb18030")[:-cut]) is Encoding.GB18030


@pytest.mark.parametrize("spoiled", [b"\xff", b"\x80", b"\xc1\xaa", b"\x00\xfe"])
def test_utf_8_with_a_spoiled_place_is_not_taken_for_another_encoding(spoiled: bytes) -> None:
    raw = TEXT.encode()
    for place in (0, 6, len(raw) // 2):
        assert likely_encoding(raw[:place] + spoiled + raw[place:]) is not Encoding.GB18030


@pytest.mark.parametrize(
    "raw",
    [b"", b"\xff\xfe", b"\xff\xfe\x00", b"\xff\xff\xff", b"\x80", bytes(range(256)),
     b"## \xff\xfe ^m-00000000000008\n", "résumé café".encode("latin-1"), b"\x00\x81\x40"],
)  # fmt: skip
def test_what_is_no_text_that_we_know_is_called_nothing(raw: bytes) -> None:
    assert likely_encoding(raw) is None
