"""Downloads one model; run as a program of its own, so that it can be killed.

    python fetch_model.py OPTIONS

OPTIONS is JSON: ``name``, as on the hub; ``folder``, where the model will lie; ``mirror``, the
hub's address, empty for HF_ENDPOINT or else the hub itself. HF_TOKEN is shown to these two alone;
it comes by the environment, for anybody on the machine can read a command line. Exit status 0 when
the model is there; else the last line of standard error says what failed. Needs the standard
library alone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import threading
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlsplit

HUB: Final = "https://huggingface.co"


def main(options: dict[str, str]) -> None:
    """Exits with what failed."""
    from ..local.model_files import NothingToRun
    from .hub import Hub
    from .hub_fetch import FetchFailed, fetch

    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        sys.exit("offline: HF_HUB_OFFLINE is set")
    torch = importlib.util.find_spec("sentence_transformers") is not None
    endpoint, token = place(options["mirror"], os.environ)
    if urlsplit(endpoint).scheme not in {"http", "https"}:
        sys.exit(f"not the address of a hub: {endpoint}")
    hub = Hub(endpoint, options["name"], token)
    try:
        fetch(hub, Path(options["folder"]), torch=torch)
    except (FetchFailed, NothingToRun) as error:
        sys.exit(str(error))
    except HTTPError as error:
        sys.exit(f"HTTP {error.code} {error.reason}: {endpoint}")
    except OSError as error:
        sys.exit(f"{error}: {endpoint}"[-200:])
    except (AttributeError, HTTPException, LookupError, TypeError, ValueError) as error:
        sys.exit(f"{endpoint} does not answer like a hub: {type(error).__name__}")


def place(mirror: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """The hub's address, and the token that it is shown."""
    if mirror:
        return mirror, ""
    return environment.get("HF_ENDPOINT") or HUB, environment.get("HF_TOKEN", "")


def end_with_parent() -> None:
    """The other end of our standard input closes when our parent process is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: fetch_model.py OPTIONS")
    threading.Thread(target=end_with_parent, daemon=True).start()
    sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
    from llm_memory.index.embedding.download import fetch_model

    del sys.path[0]
    fetch_model.main(json.loads(sys.argv[1]))
