"""One model from a hub, or a mirror of it, into a folder: whole, or not at all. In the models'
program, and resumed where it was cut off."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ...child.program import Answer, Fault
from .folder import TOTAL, needed, unfinished

_HUB: Final = "https://huggingface.co"
_FAILED: Final = "download_failed"
_OUTSIDE: Final = re.compile(r"/\.{0,2}/|[\\:]")
"""What no name of a file below a folder has."""
_SPARE: Final = 100 << 20
"""Bytes that stay free on the disk."""


def hub_at(mirror: str) -> tuple[str, str | bool]:
    """The address, for an empty ``mirror`` that of HF_ENDPOINT or else the hub's own, and HF_TOKEN,
    which is shown to these two alone. Raises Fault: it is no address."""
    endpoint = mirror or os.environ.get("HF_ENDPOINT") or _HUB
    if urlsplit(endpoint).scheme not in {"http", "https"}:
        raise Fault(_FAILED, f"not the address of a hub: {endpoint}")
    return endpoint, False if mirror else os.environ.get("HF_TOKEN") or False


def fetch(fields: Mapping[str, Any], _: bytes) -> Answer:
    """The model ``name`` into the ``folder``, which is there when all of it is. Blocks. Raises
    Fault: ``download_failed`` with what an owner should know."""
    endpoint, token = hub_at(fields["mirror"])
    folder = Path(fields["folder"])
    part = unfinished(folder)
    part.mkdir(parents=True, exist_ok=True)
    try:
        _fetch(fields["name"], part, endpoint, token)
    except Fault:
        raise
    except Exception as error:  # by its first line: the rest quotes headers and paths
        said = f"{type(error).__name__}: {(str(error).strip() or '?').splitlines()[0][:150]}"
        raise Fault(_FAILED, f"{said} ({endpoint})") from error
    (part / TOTAL).unlink()
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return {}, b""


def _fetch(model: str, part: Path, endpoint: str, token: str | bool) -> None:
    # Read at its import. Its own protocol goes to servers that no mirror has.
    os.environ |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    from huggingface_hub import HfApi, hf_hub_download

    api = HfApi(endpoint=endpoint, token=token)
    told = api.model_info(model, files_metadata=True)
    place: dict[str, Any] = {"repo_id": model, "revision": told.sha, "local_dir": part}
    named = {one.rfilename: one.size or 0 for one in told.siblings or ()}
    sizes = {name: size for name, size in named.items() if not _OUTSIDE.search(f"/{name}/")}
    files = needed(sizes, torch=find_spec("sentence_transformers") is not None)
    if not files:
        raise Fault(
            _FAILED,
            "no ONNX export with tokenizer.json in this repository, and no weights that "
            "sentence-transformers, if it is installed, could read",
        )
    total = sum(sizes[name] for name in files)
    there = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
    if shutil.disk_usage(part).free < total - there + _SPARE:
        raise Fault(_FAILED, f"the disk is full: {(total - there) / 1e6:.0f} MB are needed")
    (part / TOTAL).write_text(str(total))
    for name in files:
        hf_hub_download(filename=name, endpoint=endpoint, token=token, **place)
