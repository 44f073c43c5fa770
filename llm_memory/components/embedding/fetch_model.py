"""Downloads one model; run as a program of its own, so that it can be killed.

    python fetch_model.py OPTIONS

OPTIONS is JSON: ``name``, as on the hub; ``folder``, where the model will lie; ``endpoint``, the
hub or a mirror of it; ``token``, what it is to be shown, may be empty. Exit status 0 when the model
is there; else the last line of standard error says what failed. Needs the standard library alone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import threading
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError


def main(options: dict[str, str]) -> None:
    """Exits with what failed."""
    from .hub import Hub
    from .hub_fetch import FetchFailed, fetch
    from .model_files import NothingToRun

    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        sys.exit("offline: HF_HUB_OFFLINE is set")
    torch = importlib.util.find_spec("sentence_transformers") is not None
    hub = Hub(options["endpoint"], options["name"], options["token"])
    try:
        fetch(hub, Path(options["folder"]), torch=torch)
    except (FetchFailed, NothingToRun) as error:
        sys.exit(str(error))
    except HTTPError as error:
        sys.exit(f"HTTP {error.code} {error.reason}: {options['endpoint']}")
    except OSError as error:
        sys.exit(f"{error}: {options['endpoint']}"[-200:])
    except (HTTPException, LookupError, TypeError, ValueError) as error:
        sys.exit(f"{options['endpoint']} does not answer like a hub: {type(error).__name__}")


def end_with_parent() -> None:
    """The other end of our standard input closes when whoever started us is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: fetch_model.py OPTIONS")
    threading.Thread(target=end_with_parent, daemon=True).start()
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    from llm_memory.components.embedding import fetch_model

    del sys.path[0]
    fetch_model.main(json.loads(sys.argv[1]))
