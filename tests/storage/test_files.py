"""On Windows a file that another program has open is tried again for a while; elsewhere never."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.llm_memory.storage.files import PAUSES

pytestmark = pytest.mark.unit

IN_USE = "The process cannot access the file because it is being used by another process"
TRIES = len(PAUSES) + 1


class Held:
    """A call that another program keeps from succeeding the first few times."""

    def __init__(self, real: Callable[..., Any], times: int) -> None:
        self.real = real
        self.times = times
        self.calls = 0

    def __call__(self, path: str | Path, *args: Any, **kwargs: Any) -> Any:
        if Path(path).is_dir():
            return self.real(path, *args, **kwargs)
        self.calls += 1
        if self.calls <= self.times:
            raise PermissionError(errno.EACCES, IN_USE)
        return self.real(path, *args, **kwargs)


@pytest.fixture(params=["windows", "elsewhere"])
def windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether we are told that this is Windows; nobody waits in either case."""
    is_windows = request.param == "windows"
    monkeypatch.setattr(files, "IS_WINDOWS", is_windows)
    monkeypatch.setattr(files, "PAUSES", tuple(0.0 for _ in PAUSES))
    return is_windows


@pytest.mark.parametrize("times", [1, TRIES - 1, 1000])
@pytest.mark.parametrize(
    ("owner", "name", "write", "written"),
    [
        (Path, "replace", files.replace_durably, b"new"),
        (os, "open", files.append_durably, b"oldnew"),
    ],
    ids=["replaced", "appended to"],
)
def test_a_file_that_is_held_for_a_while_is_written_on_windows_and_is_else_left_as_it_was(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    windows: bool,
    times: int,
    owner: Any,
    name: str,
    write: Callable[[Path, bytes], None],
    written: bytes,
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    held = Held(getattr(owner, name), times)
    monkeypatch.setattr(owner, name, lambda *args, **kwargs: held(*args, **kwargs))
    is_done = windows and times < TRIES
    if is_done:
        write(path, b"new")
    else:
        with pytest.raises(VaultWriteFailed, match=f"a.md: {IN_USE}"):
            write(path, b"new")
        assert held.calls == (TRIES if windows else 1)
    monkeypatch.undo()
    assert path.read_bytes() == (written if is_done else b"old")
    assert [p.name for p in tmp_path.iterdir()] == ["a.md"]


def test_a_drive_that_is_gone_is_an_error_and_not_an_endless_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "exists", lambda *_, **__: False)
    with pytest.raises(FileNotFoundError):
        files.make_folder(tmp_path / "memory" / "scopes")


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_a_rewrite_keeps_the_mode_of_the_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    path = tmp_path / "a.md"
    for write, mode in ((files.replace_durably, 0o600), (files.append_durably, 0o644)):
        write(path, b"1")
        assert path.stat().st_mode & 0o777 == mode
        path.chmod(0o644)
        files.replace_durably(path, b"2")
        assert path.stat().st_mode & 0o777 == 0o644
