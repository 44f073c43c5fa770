"""Does what the kernel and Python do for `python -P PROGRAM ARGUMENTS`, in a process that was
forked for it; run by `forked_programs.py`, which leaves its `order` among our globals."""

import os
import runpy
import sys
from collections.abc import Mapping, Sequence


def run(
    program: Sequence[str],
    folder: str | os.PathLike[str] | None,
    environment: Mapping[str, str],
    pipes: Sequence[int],
) -> None:
    """Run it in a folder, with three pipes for its standard streams."""
    for standard, pipe in enumerate(pipes):
        os.dup2(pipe, standard)
        os.close(pipe)
    by_line = 1
    for standard, (name, mode, buffering) in enumerate(
        (("stdin", "r", -1), ("stdout", "w", -1), ("stderr", "w", by_line))
    ):
        stream = os.fdopen(standard, mode, buffering, encoding="utf-8", closefd=False)
        setattr(sys, name, stream)
    os.environ.clear()
    os.environ.update(environment)
    if folder is not None:
        os.chdir(folder)
    if program[0] == "-m":
        sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
        sys.argv[:] = program[1:]
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = program
        runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    run(*globals()["order"])
