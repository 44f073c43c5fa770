"""``python -m llm_memory``, or ``scoped-memory``: a memory for coding agents, and whole stores out
of their files and into them.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Final

from .cli.messages import MISUSED, Refusal, fail, speak
from .errors import (
    DirectoryInUse,
    EngineOff,
    FormatNewer,
    HomeError,
    NoOwner,
    ScopedMemoryError,
    TransferFailed,
)
from .home.setting_values import LANGUAGES, spoken
from .home.settings import PREFIX
from .texts import Spoken

if TYPE_CHECKING:
    import argparse

_HOOK: Final = {"recall", "--hook"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 done, 1 nothing done, 2 wrong usage, 3 done but for some lines."""
    given = sys.argv[1:] if arguments is None else arguments
    if set(given) >= _HOOK:  # before anything is loaded that it does not need
        from .cli.hook import hook

        return hook([one for one in given if one not in _HOOK])
    import argparse

    from .cli.parser import build_parser

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without Chinese shows question marks
            stream.reconfigure(
                # Programs that start us read UTF-8, whatever the machine's console is set to.
                encoding=None if stream.isatty() else "utf-8",
                errors="replace",
            )
    speak(_language(arguments))
    args = build_parser().parse_args(arguments, argparse.Namespace(data=None, memory=None))
    try:
        return _run(args)
    except HomeError as error:
        return fail(error.said, exit_code=MISUSED)
    except Refusal as refusal:
        return fail(refusal.said)
    except KeyboardInterrupt:
        return fail("cli.interrupted")
    except (ScopedMemoryError, OSError) as error:
        return _failed(error)


def _language(arguments: Sequence[str] | None) -> Spoken:
    """Returns the language of what is said before the settings are read: that of the flag, of the
    variable, or of the machine."""
    import argparse

    flag = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    flag.add_argument("--language", nargs="?")
    said = flag.parse_known_args(arguments)[0].language or os.environ.get(f"{PREFIX}LANGUAGE")
    return spoken(said if said in LANGUAGES else "auto")


def _failed(error: Exception) -> int:
    """Print why a command was not done. Returns the exit code."""
    match error:
        case EngineOff(code=code) if code != "directory_in_use":
            return fail("cli.not_opened", why=error)
        case DirectoryInUse() | EngineOff():
            return fail("cli.in_use")
        case FormatNewer():
            return fail("cli.newer", why=error)
        case NoOwner():
            return fail("cli.no_answer", why=error)
        case TransferFailed():
            from .cli.files import tell_fault

            return tell_fault(error.code, error.detail)
        case _:
            return fail("cli.not_done", why=error)


def _run(args: argparse.Namespace) -> int:
    """What runs a command is imported now: some need a whole engine, some must start at once."""
    if "run_home" in args:  # a command of a home of its own, apart from any bot's folders
        at_home: Callable[[argparse.Namespace], int] = _function(args.run_home)
        return at_home(args)
    from .cli.paths import find_store_of_bot

    makes = args.run in ("files.restore", "files.import_")
    store = find_store_of_bot(args.data, args.memory, must_exist=not makes)
    command: Callable[[argparse.Namespace, object], int] = _function(args.run)
    return command(args, store)


def _function(name: str) -> Any:
    """Returns a function by the module of ``cli/`` and its name."""
    module, _, function = name.partition(".")
    return getattr(importlib.import_module(f".cli.{module}", __package__), function)


if __name__ == "__main__":
    sys.exit(main())
