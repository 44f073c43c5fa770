"""Whatever a ``workflow.toml`` holds: an error in words or a workflow, and nothing is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import HomeError
from astrbot_plugin_scoped_memory.llm_memory.home.workflow import project_workflow
from astrbot_plugin_scoped_memory.llm_memory.models.workflow import Workflow, is_role

pytestmark = [pytest.mark.unit, pytest.mark.property]

words = st.text(max_size=30).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))
paths = st.lists(
    st.sampled_from(
        ["..", ".", "~", "/", "\\", "C:", "D:\\", "\\\\", "//", "${HOME}", "${", "}", "${KEY}",
         "mem", "记忆", ".git", "con", "x" * 300, "\t", "\u202e", "$HOME", "%TEMP%", "home"]
    ),
    max_size=5,
).map("/".join)  # fmt: skip
values = st.one_of(
    st.booleans(), st.integers(-(2**70), 2**70), words, paths, st.lists(words, max_size=4)
)
keys = st.sampled_from(
    ["root", "layout", "auto_inject_topk", "project", "enabled", "rot", "a b", ""]
)


def written(value: Any) -> str:
    """JSON of these values is TOML, but for what JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@st.composite
def files(draw: st.DrawFn) -> bytes:
    text = ""
    for table in draw(st.permutations(["[memory]", "[roles]", "[tool.x]", ""])):
        content = draw(st.dictionaries(keys, values, max_size=4))
        lines = (f"{written(key)} = {written(value)}\n" for key, value in content.items())
        if table:
            text += f"{table}\n" + "".join(lines)
    return text.encode()


@given(st.one_of(files(), st.binary(max_size=200), words.map(str.encode)))
@example(b'[memory]\nroot = "\\uD800"\n')
@example(b"\xff\xfe[\x00m\x00e\x00m\x00o\x00r\x00y\x00]\x00")
@example(b"[memory]\nroot = 0x" + b"f" * 9000)
@example(b"[memory]\r[roles]\r")
def test_any_bytes_are_an_error_in_words_or_a_workflow(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    top = tmp_path_factory.mktemp("w")
    project = top / "code" / "shop"
    project.mkdir(parents=True)
    file = project / "workflow.toml"
    file.write_bytes(content)
    before = sorted(top.rglob("*"))
    environ = {"HOME": str(top), "KEY": "sk-live-0123456789"}
    try:
        workflow = project_workflow(file, environ, top / "home")
    except HomeError as error:
        said = [error.said.text("zh"), str(error)]
    else:
        assert workflow is None or isinstance(workflow, Workflow)
        told = workflow.warnings if workflow else ()
        said = [one.text(language) for one in told for language in ("zh", "en")]
        if workflow is not None:
            assert workflow.topk is None or 0 <= workflow.topk <= 20
            assert all(map(is_role, workflow.enabled or ()))
            assert workflow.root not in (top, top / "home", Path("/"))
            assert workflow.root is None or not set("\\\0") & set(str(workflow.root))
    assert sorted(top.rglob("*")) == before
    assert all(line.startswith(f"{file}: ") and line.isprintable() for line in said)
    assert not any("0123456789" in line for line in said)
