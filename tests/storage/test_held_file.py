"""Who holds a file says so in it, and can prove it, until it is gone."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.storage.held_file import (
    HeldFile,
    holder,
    is_held_with,
)
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = pytest.mark.unit

PROGRAM = """
import time
from pathlib import Path
from astrbot_plugin_scoped_memory.llm_memory.storage.held_file import HeldFile
file = HeldFile(Path(sys.argv[1]))
assert file.take({"client": "codex", "pid": 7})
print(file.token, flush=True)
time.sleep(600)
"""
WORDS: dict[str, str | int] = {"client": "cursor", "role": "后端", "pid": 4711}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "roles" / "backend.lock"


def test_the_second_is_refused_and_reads_who_holds_it_until_it_is_given_back(path: Path) -> None:
    first, second = HeldFile(path), HeldFile(path)
    assert holder(path) is None
    assert first.take(WORDS)
    assert first.take(WORDS), "it is held already"
    assert not second.take({"client": "codex"})
    assert holder(path) == WORDS
    assert is_held_with(path, first.token)
    token = first.token
    first.release()
    first.release()
    assert holder(path) is None
    assert not is_held_with(path, token)
    assert second.take({"client": "codex"})
    assert holder(path) == {"client": "codex"}
    assert not is_held_with(path, token)
    second.release()


def test_nothing_but_the_present_token_is_a_proof(path: Path) -> None:
    file = HeldFile(path)
    assert file.take(WORDS)
    for token in ("", "x", file.token[:-1], f"{file.token}x", "令牌", "\ud800"):
        assert not is_held_with(path, token)
    copied = path.with_name("qa.lock")
    copied.write_bytes(path.read_bytes())
    assert not is_held_with(copied, file.token), "words without the lock"
    file.release()
    assert not is_held_with(path, ""), "nobody's token is empty"


@pytest.mark.skipif(sys.platform == "win32", reason="no open file is removed there")
def test_who_holds_a_file_that_was_removed_proves_nothing_to_its_successor(path: Path) -> None:
    former, later = HeldFile(path), HeldFile(path)
    assert former.take(WORDS)
    path.unlink()
    assert not is_held_with(path, former.token)
    assert later.take(WORDS)
    assert is_held_with(path, later.token)
    assert not is_held_with(path, former.token)
    former.release()
    assert is_held_with(path, later.token), "giving back the old one gives back nothing else"
    later.release()


@pytest.mark.skipif(sys.platform == "win32", reason="modes say nothing there")
def test_the_token_is_for_this_user_alone_in_one_line(path: Path) -> None:
    path.parent.mkdir(parents=True, mode=0o755)
    file = HeldFile(path)
    assert file.take(WORDS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (line,) = path.read_bytes().splitlines(keepends=True)
    assert line.endswith(b"\n")
    assert json.loads(line) == {**WORDS, "token": file.token}
    assert len(file.token) == 43
    file.release()


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b"[" * 4000, b'{"pid": [1]}', b"7"])
def test_words_that_cannot_be_read_say_nothing_and_prove_nothing(
    path: Path, content: bytes
) -> None:
    file = HeldFile(path)
    assert file.take(WORDS)
    path.write_bytes(content)
    assert holder(path) == {}
    assert not is_held_with(path, file.token)
    file.release()


@pytest.mark.process
def test_a_process_that_is_killed_holds_nothing_whatever_words_it_left(path: Path) -> None:
    process = subprocess.Popen(program.lines(PROGRAM, path), stdout=subprocess.PIPE)
    file = HeldFile(path)
    try:
        assert process.stdout is not None
        token = process.stdout.readline().decode().strip()
        assert is_held_with(path, token)
        assert not file.take(WORDS)
        assert holder(path) == {"client": "codex", "pid": 7}
    finally:
        process.kill()
        process.communicate()
    assert token in path.read_text("utf-8"), "nobody was left to remove it"
    assert holder(path) is None
    assert not is_held_with(path, token)
    assert file.take(WORDS)
    assert not is_held_with(path, token)
    file.release()
