"""Regular expressions that wait until somebody asks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.text import lazy_pattern

pytestmark = pytest.mark.unit

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
_NONE_COMPILED = """
import sys
sys.path.insert(0, sys.argv[1])
import checkout
checkout.register()
from astrbot_plugin_scoped_memory.llm_memory import api
from astrbot_plugin_scoped_memory.llm_memory.text import lazy_pattern
known, ready = lazy_pattern.ALL, {"expression", "_sources"}
print(len(known), sum(bool(ready & vars(pattern).keys()) for pattern in known))
lazy_pattern.compile_all()
print(sum(not ready & vars(pattern).keys() for pattern in known))
"""


def test_it_answers_as_the_expression_does_and_what_is_none_raises_at_its_first_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lazy_pattern, "ALL", [])
    lazy = lazy_pattern.lazy_pattern("(?P<a>a)bc", re.IGNORECASE)
    assert [match.span() for match in lazy.finditer("xABCabcx")] == [(1, 4), (4, 7)]
    assert lazy.groupindex == {"a": 1}
    broken = lazy_pattern.lazy_pattern("(")
    for used in (lazy_pattern.compile_all, lambda: broken.search("a")):
        with pytest.raises(re.error):
            used()


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
