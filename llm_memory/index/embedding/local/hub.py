"""One model from a hub, or a mirror of it, into a folder: whole, or not at all. In the models'
program, and resumed where it was cut off."""

from __future__ import annotations

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ...child.program import Fault
from .folder import TOTAL, needed, unfinished

_HUB: Final = "https://huggingface.co"
_FAILED: Final = "download_failed"
_OUTSIDE: Final = re.compile(r"/\.{0,2}/|[\\:]")
"""What no name of a file below a folder has."""
_SPARE: Final = 100 << 20
"""Bytes that stay free on the disk."""


class Hub:
    """A model's repository.

    Args:
        name: ``owner/model``.
        mirror: The hub's address; empty for HF_ENDPOINT or else the hub itself. HF_TOKEN is shown
            to these two alone.

    Raises:
        Fault: it is no address.
    """

    def __init__(self, name: str, mirror: str) -> None:
        self._name = name
        self.endpoint = mirror or os.environ.get("HF_ENDPOINT") or _HUB
        self.token = False if mirror else os.environ.get("HF_TOKEN") or False
        if urlsplit(self.endpoint).scheme not in {"http", "https"}:
            raise Fault(_FAILED, f"not the address of a hub: {self.endpoint}")
        # Read at its import. Its own protocol goes to servers that no mirror has.
        os.environ |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}

    def fetch(self, folder: Path) -> dict[str, str]:
        """The model into the folder, which is there when all of it is. Blocks. Raises Fault:
        ``download_failed`` with what an owner should know."""
        part = unfinished(folder)
        part.mkdir(parents=True, exist_ok=True)
        try:
            self._fetch(part)
        except Fault:
            raise
        except Exception as error:  # by its first line: the rest quotes headers and paths
            said = f"{type(error).__name__}: {(str(error).strip() or '?').splitlines()[0][:150]}"
            raise Fault(_FAILED, f"{said} ({self.endpoint})") from error
        (part / TOTAL).unlink()
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
        return {}

    def _fetch(self, part: Path) -> None:
        from huggingface_hub import HfApi, hf_hub_download

        api = HfApi(endpoint=self.endpoint, token=self.token)
        told = api.model_info(self._name, files_metadata=True)
        place: dict[str, Any] = {"repo_id": self._name, "revision": told.sha, "local_dir": part}
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
            hf_hub_download(filename=name, endpoint=self.endpoint, token=self.token, **place)
