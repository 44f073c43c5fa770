"""Scripts of ours in processes of their own."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent
NOT_HERE = 77
"""The status of a script that cannot find out here what it is to find out."""

_DROP_FROM_BOUNDING_SET = 24
_OVERRIDE_MODES = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


def command(script: str | Path, *arguments: object) -> list[str]:
    """What runs a script of ours in this Python."""
    return [sys.executable, "-P", *map(str, (PROGRAMS / "run.py", script, *arguments))]


def lines(code: str, *arguments: object) -> list[str]:
    """What runs these lines, which import the checkout by its package's name; ``sys.argv`` holds
    the arguments from 1 on."""
    scripts = Path(__file__).resolve().parents[3] / "scripts"
    begin = f"import sys; sys.path.insert(0, {str(scripts)!r}); import checkout; "
    return [sys.executable, "-P", "-c", f"{begin}checkout.register()\n{code}", *map(str, arguments)]


def start(
    script: str | Path,
    *arguments: object,
    stdin: int = subprocess.DEVNULL,
    bound_by_modes: bool = False,
) -> subprocess.Popen[str]:
    """Start a script that speaks text, through pipes.

    With ``bound_by_modes`` it and its children are held by the modes of files, even as root.
    """
    return subprocess.Popen(
        command(script, *arguments),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=bind_by_modes if bound_by_modes else None,
    )


def found_by(script: str, folder: Path, *, bound_by_modes: bool = False) -> dict[str, Any]:
    """The JSON object that a script of this folder prints, which plays in another.

    Skips the test where the script says that it cannot.
    """
    process = start(PROGRAMS / script, folder, bound_by_modes=bound_by_modes)
    out, errors = process.communicate(timeout=300)
    if process.returncode == NOT_HERE:
        import pytest  # which the programs themselves can do without

        pytest.skip(out.strip())
    assert process.returncode == 0, errors
    found: dict[str, Any] = json.loads(out)
    return found


def say(text: str) -> None:
    """To whoever started this process."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def bind_by_modes() -> None:
    """A ``preexec_fn``. To become another user instead would need folders of the checkout and of
    Python that this user may enter."""
    if sys.platform == "linux" and os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for right in _OVERRIDE_MODES:
            libc.prctl(_DROP_FROM_BOUNDING_SET, right, 0, 0, 0)
