"""Does what the kernel and Python do for `python -P PROGRAM ARGUMENTS`, in a process that was
forked for it; run by `forked_programs.py`, which leaves its `order` among our globals."""

import os
import runpy
import sys
from collections.abc import Mapping, Sequence


def run(program: Sequence[str], environment: Mapping[str, str], pipes: Sequence[int]) -> None:
    """Run it with three pipes for its standard streams."""
    for standard, pipe in enumerate(pipes):
        os.dup2(pipe, standard)
        os.close(pipe)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = program
    runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    run(*globals()["order"])
