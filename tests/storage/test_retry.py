"""On Windows a file that another program has open is tried again for a while; elsewhere never."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.storage import files, retry
from astrbot_plugin_scoped_memory.llm_memory.storage.retry import PAUSES, when_free

pytestmark = pytest.mark.unit

IN_USE = "The process cannot access the file because it is being used by another process"
TRIES = len(PAUSES) + 1


class Held:
    """A call that another program keeps from succeeding the first few times."""

    def __init__(self, real: Callable[..., Any], times: int) -> None:
        self.real = real
        self.times = times
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls <= self.times:
            raise PermissionError(errno.EACCES, IN_USE)
        return self.real(*args, **kwargs)


@pytest.fixture(params=["windows", "elsewhere"])
def windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether we are told that this is Windows; nobody waits in either case."""
    is_windows = request.param == "windows"
    monkeypatch.setattr(retry, "IS_WINDOWS", is_windows)
    monkeypatch.setattr(retry, "PAUSES", tuple(0.0 for _ in PAUSES))
    return is_windows


def hold(monkeypatch: pytest.MonkeyPatch, name: str, times: int) -> Held:
    """Make a method of every path fail the first few times."""
    held = Held(getattr(Path, name), times)
    monkeypatch.setattr(Path, name, lambda *args, **kwargs: held(*args, **kwargs))
    return held


def test_another_error_is_not_tried_again(windows: bool) -> None:
    calls = 0

    def full() -> None:
        nonlocal calls
        calls += 1
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        when_free(full)
    assert calls == 1


@pytest.mark.parametrize("times", [1, TRIES - 1, 1000])
@pytest.mark.parametrize(
    ("name", "write", "written"),
    [("replace", files.replace_durably, b"new"), ("open", files.append_durably, b"oldnew")],
    ids=["replaced", "appended to"],
)
def test_a_file_that_is_held_for_a_while_is_written_on_windows_and_is_else_left_as_it_was(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    windows: bool,
    times: int,
    name: str,
    write: Callable[[Path, bytes], None],
    written: bytes,
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    held = hold(monkeypatch, name, times)
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


def test_a_new_file_that_could_not_be_filled_is_removed_after_it_was_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows removes no open file, so the order matters; a scanner may hold it even then."""
    monkeypatch.setattr(retry, "IS_WINDOWS", True)
    monkeypatch.setattr(retry, "PAUSES", (0.0,) * 3)
    opened: list[Any] = []
    real_open, real_unlink = Path.open, Path.unlink

    def remember(path: Path, *args: Any, **kwargs: Any) -> Any:
        opened.append(real_open(path, *args, **kwargs))
        return opened[-1]

    def refuse_open(path: Path, *args: Any) -> None:
        if not all(file.closed for file in opened):
            raise PermissionError(errno.EACCES, IN_USE)
        real_unlink(path)

    held = Held(refuse_open, 2)
    monkeypatch.setattr(Path, "open", remember)
    monkeypatch.setattr(Path, "unlink", lambda *args: held(*args))
    monkeypatch.setattr(files, "write_all", lambda *_: full())
    with pytest.raises(VaultWriteFailed):
        files.append_durably(tmp_path / "a.md", b"new")
    assert opened
    assert list(tmp_path.iterdir()) == []


def full() -> None:
    """What a full disk answers."""
    raise OSError(errno.ENOSPC, "full")


def test_a_drive_that_is_gone_is_an_error_and_not_an_endless_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "exists", lambda *_, **__: False)
    with pytest.raises(FileNotFoundError):
        files.make_folder(tmp_path / "memory" / "scopes")


def test_the_neighbour_file_of_the_longest_possible_name_can_be_made(tmp_path: Path) -> None:
    path = tmp_path / f"{'长' * 84}.md"
    assert len(path.name.encode()) == 255
    files.append_durably(path, b"old")
    files.replace_durably(path, b"new")
    assert path.read_bytes() == b"new"
