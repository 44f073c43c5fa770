"""Programs of the engine and of tests, forked from a process that has imported Chroma, the SDK of
MCP and the engine: imports are most of what they do in a test."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.reduction import DupFd
from operator import methodcaller
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from unittest import mock

import checkout

from astrbot_plugin_scoped_memory.llm_memory.index.vector import (
    worker,
    worker_process,
    worker_store,
)
from astrbot_plugin_scoped_memory.llm_memory.migration import legacy_reader_program
from astrbot_plugin_scoped_memory.llm_memory.storage import child_process

_PROGRAMS: Final = frozenset((str(worker_store.WORKER), legacy_reader_program.__file__))
_RUN: Final = Path(__file__).with_name("forked_program.py")
_IMPORTED: Final = "tests.support.programs.forked_imports"
_ONE_THREAD: Final = dict.fromkeys(worker._THREAD_LIMITS, "1")
"""As the worker has it before it imports them."""
_ONE_AT_A_TIME: Final = threading.RLock()
"""Who starts a process asks how the others ended, which is told once. Reentrant: a collection in
between asks, too."""


class Forked(subprocess.Popen[bytes]):
    """A program or ``-m`` package of ours. How it ended is known from the process that it was
    forked from."""

    def _execute_child(self, args: Sequence[str], *others: Any) -> None:
        folder, environment, pipes = *others[4:6], others[9:15]
        theirs = [_Handed(pipes[index]) for index in (0, 3, 5)]
        # Whatever runs the tests is no program that the fork should import.
        another_main = _for_now(sys.modules, {"__main__": ModuleType("__main__")})
        with _ONE_AT_A_TIME, another_main:
            with _for_now(os.environ, {**_ONE_THREAD, "PYTHONPATH": str(checkout.ROOT)}):
                forkserver.ensure_running()
            self._process = multiprocessing.get_context("forkserver").Process(
                target=runpy.run_path,
                args=(str(_RUN), {"order": (args[2:], folder, environment, theirs)}, "__main__"),
                daemon=True,
            )
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self._child_created = True
        self._close_pipe_fds(*pipes)

    @property
    def sentinel(self) -> int:
        """A descriptor that can be read when it has ended."""
        return self._process.sentinel

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        with _ONE_AT_A_TIME:
            if self.returncode is None:
                self.returncode = self._process.exitcode
            return self.returncode

    def _wait(self, timeout: float | None) -> int:
        wait([self._process.sentinel], timeout)
        if (code := self._internal_poll()) is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code


def start(
    script: str | Path, *arguments: object, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[Any]:
    """A script of ours as ``subprocess.Popen`` starts it, on Linux a fork. It speaks text, into
    pipes."""
    starting = Forked if sys.platform == "linux" else subprocess.Popen
    return starting(
        [sys.executable, "-P", *map(str, (script, *arguments))],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ},
        encoding="utf-8",
    )


@contextmanager
def _for_now[V](mapping: MutableMapping[str, V], items: Mapping[str, V]) -> Iterator[None]:
    """Unlike ``mock.patch.dict`` it leaves alone what other threads put there meanwhile, and is
    never empty."""
    before = {name: mapping[name] for name in items if name in mapping}
    mapping.update(items)
    try:
        yield
    finally:
        for name in items:
            if name in before:
                mapping[name] = before[name]
            else:
                mapping.pop(name, None)


class _Handed:
    """A descriptor that arrives as the number that it has over there."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __reduce__(self) -> tuple[object, ...]:
        return methodcaller("detach"), (DupFd(self._descriptor),)


class _Subprocess(ModuleType):
    """The module `subprocess`, for those who start programs of ours."""

    def __init__(self) -> None:
        super().__init__("subprocess")
        self._search = child_process.child_environment()["PYTHONPATH"]

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def Popen(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Starts a program. One of ours is forked, unless it is to find other packages than what
        it would be forked from."""
        ours = not _PROGRAMS.isdisjoint(command[2:3])
        if not ours or options["env"]["PYTHONPATH"] != self._search:
            return subprocess.Popen(command, **options)
        return Forked(command, **options)


@contextmanager
def programs_are_forked() -> Iterator[None]:
    """On Linux; elsewhere native libraries may not outlive a fork, and programs are started."""
    if sys.platform != "linux":
        yield
        return
    forkserver.set_forkserver_preload([_IMPORTED])
    module = _Subprocess()
    with (
        mock.patch.object(worker_process, "subprocess", module),
        mock.patch.object(child_process, "subprocess", module),
    ):
        yield
