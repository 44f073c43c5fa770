"""A value is put into a JSON file, and every other byte of it stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.home.json_splice import NotMergeable, parse, put

pytestmark = [pytest.mark.unit, pytest.mark.property]

ENTRY = {"command": "python", "args": ["-m", "x"], "env": {"A": "值"}}
PATH = ("mcpServers", "ours")

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=6) | st.just("mcpServers"), values, max_size=5)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A JSON file as programs and people write it, and what it holds."""
    content = draw(objects)
    if draw(st.booleans()):
        content["mcpServers"] = draw(st.dictionaries(st.text(max_size=6), values, max_size=3))
    text = json.dumps(
        content,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, 2, 4, "\t"])),
        separators=draw(st.sampled_from([None, (",", ":"), (" , ", " : ")])),
    )
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff", " \n"])) + text + draw(
        st.sampled_from(["", "\n"])
    ), (content)


@given(files())
def test_it_holds_the_value_and_all_it_held_before(file: tuple[str, dict[str, Any]]) -> None:
    text, content = file
    if not isinstance(content.get("mcpServers", {}), dict):
        with pytest.raises(NotMergeable):
            put(text, PATH, ENTRY)
        return
    done = put(text, PATH, ENTRY)
    after = parse(done)
    assert after["mcpServers"].pop("ours") == ENTRY
    before = {**content, "mcpServers": {**content.get("mcpServers", {})}}
    before["mcpServers"].pop("ours", None)
    assert json.dumps(after) == json.dumps(before)  # the order, too
    assert put(done, PATH, ENTRY) == done


@given(files())
def test_what_is_new_is_one_piece_and_the_rest_is_byte_by_byte_the_same(
    file: tuple[str, dict[str, Any]],
) -> None:
    text, content = file
    servers = content.get("mcpServers", {})
    if not isinstance(servers, dict) or "ours" in servers:
        return
    done = put(text, PATH, ENTRY)
    before = text if text.strip("\ufeff \n\r\t") else text + "{}\n"
    start = next(
        (n for n, (a, b) in enumerate(zip(before, done, strict=False)) if a != b), len(before)
    )
    left = len(before) - start
    # Blanks of an object that was empty are written anew; nothing else.
    assert done.endswith(before[start:].lstrip()) if left else True


@given(st.lists(values, max_size=3))
def test_an_item_is_put_behind_the_others(listed: list[Any]) -> None:
    text = json.dumps({"hooks": {"Start": listed}}, indent=2)
    done = put(text, ("hooks", "Start", len(listed)), ENTRY)
    assert parse(done) == {"hooks": {"Start": [*listed, ENTRY]}}
    again = put(done, ("hooks", "Start", len(listed), "command"), "other")
    assert parse(again)["hooks"]["Start"][-1] == {**ENTRY, "command": "other"}


def test_the_files_own_indentation_and_line_ends_are_used() -> None:
    text = '{\r\n\t"mcpServers": {\r\n\t\t"a": {"x": 1e5}\r\n\t}\r\n}\r\n'
    assert put(text, PATH, {"command": "p"}) == (
        '{\r\n\t"mcpServers": {\r\n\t\t"a": {"x": 1e5},\r\n'
        '\t\t"ours": {\r\n\t\t\t"command": "p"\r\n\t\t}\r\n\t}\r\n}\r\n'
    )
    assert put('{"a":1}', ("b",), 2) == '{"a":1,"b": 2}'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1,}', "line 1, column"),
        ('{\n  // a word\n  "a": 1\n}', "line 2, column 3"),
        ("[1]", "not inside an object"),
        ('{"mcpServers": []}', "not inside an object"),
        ('{"mcpServers": null}', "not inside an object"),
        ('{"mcpServers": {"a": 1}, "mcpServers": {}}', "two of"),
        ('{"mcpServers": {"ours": 1, "ours": 2}}', "two of"),
        ("[" * 100_000, "deep"),
        ('{"a": NaN}', "NaN"),
    ],
)
def test_what_cannot_be_merged_is_refused(text: str, why: str) -> None:
    with pytest.raises(NotMergeable, match=why):
        put(text, PATH, ENTRY)
