"""Regular expressions that wait until somebody asks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.text import lazy_pattern
from astrbot_plugin_scoped_memory.llm_memory.text.lazy_pattern import LazyPattern, compile_all

pytestmark = pytest.mark.unit

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
TEXTS = ("", "abc", "xabcabcx", "ABC", "甲abc乙\nabc")
_NONE_COMPILED = """
import sys
sys.path.insert(0, sys.argv[1])
import checkout
checkout.register()
from astrbot_plugin_scoped_memory.llm_memory import api
from astrbot_plugin_scoped_memory.llm_memory.text import lazy_pattern
known = lazy_pattern.ALL
print(len(known), sum(pattern.expression is not None for pattern in known))
lazy_pattern.compile_all()
print(sum(pattern.expression is None for pattern in known))
"""


@pytest.mark.parametrize("flags", [0, re.IGNORECASE])
@pytest.mark.parametrize("text", TEXTS)
def test_it_answers_as_the_expression_does(text: str, flags: int) -> None:
    lazy, plain = LazyPattern(r"(?P<a>a)bc", flags), re.compile(r"(?P<a>a)bc", flags)
    for method in ("search", "match", "fullmatch"):
        found, expected = getattr(lazy, method)(text), getattr(plain, method)(text)
        assert (found and found.span()) == (expected and expected.span())
    assert [m.span() for m in lazy.finditer(text)] == [m.span() for m in plain.finditer(text)]
    assert lazy.sub("-", text, count=1) == plain.sub("-", text, count=1)
    assert lazy.groupindex == plain.groupindex
    at = lazy.match(text, 1)
    assert (at and at.span()) == ((1, 4) if text[1:4].startswith("abc") else None)


def test_what_is_no_expression_is_told_at_the_latest_when_all_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lazy_pattern, "ALL", [])
    broken = LazyPattern("(")
    with pytest.raises(re.error):
        compile_all()
    with pytest.raises(re.error):
        broken.search("a")


@pytest.mark.process
def test_an_import_compiles_none_of_them_and_all_of_them_are_sound(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _NONE_COMPILED, str(SCRIPTS)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    (known, compiled), (left,) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert known > 50
    assert (compiled, left) == (0, 0)
