"""Regular expressions that wait until somebody asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.text import lazy_pattern

pytestmark = pytest.mark.unit

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
_COMPILED = """
import sys
sys.path.insert(0, sys.argv[1])
import checkout
checkout.register()
from astrbot_plugin_scoped_memory.llm_memory import api
from astrbot_plugin_scoped_memory.llm_memory.text import lazy_pattern
print(sum(len(one._compiled) for one in lazy_pattern.ALL))
lazy_pattern.compile_all()
print(sum(len(one._compiled) for one in lazy_pattern.ALL))
"""


def test_a_pattern_is_made_of_lines_lists_and_other_patterns(tmp_path: Path) -> None:
    path = tmp_path / "patterns.txt"
    path.write_text("# None\n== word\n[a-z]\n+\n\n== two i\n${word} (?:${some})\n", "utf-8")
    patterns = lazy_pattern.PatternFile(str(path), some="one|two")
    assert patterns["two"].fullmatch("AB One") and not patterns["word"].match("AB")
    assert [one.pattern for one in patterns.starting("w")] == ["[a-z]+"]
    lazy_pattern.ALL.remove(patterns)


@pytest.mark.process
def test_an_import_compiles_none_of_them_and_all_of_them_are_sound(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _COMPILED, str(SCRIPTS)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=tmp_path)
    before, after = map(int, done.stdout.split())
    assert before == 0 and after > 300
