"""One model from a hub, or a mirror of it, into a folder: whole, or not at all. In the models'
program, and resumed where it was cut off."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ...child.program import Fault
from .folder import needed

_HUB: Final = "https://huggingface.co"
_OUTSIDE: Final = re.compile(r"/\.{0,2}/|[\\:]")
"""What no name of a file below a folder has."""
_SPARE: Final = 100 << 20
"""Bytes that stay free on the disk."""


def unfinished(folder: Path) -> Path:
    """Where a model lies until it is whole."""
    return folder.with_name(f"{folder.name}.part")


class Hub:
    """A model's repository. Every method blocks, and raises Fault for what an owner should know.

    Args:
        name: ``owner/model``.
        mirror: The hub's address; empty for HF_ENDPOINT or else the hub itself. HF_TOKEN is shown
            to these two alone.
    """

    def __init__(self, name: str, mirror: str) -> None:
        self._name = name
        self._endpoint = mirror or os.environ.get("HF_ENDPOINT") or _HUB
        self._token = False if mirror else os.environ.get("HF_TOKEN") or False
        if urlsplit(self._endpoint).scheme not in {"http", "https"}:
            raise Fault("download_failed", f"not the address of a hub: {self._endpoint}")
        # Read at its import. Its own protocol goes to servers that no mirror has.
        os.environ |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}

    def listed(self, folder: Path) -> tuple[str, dict[str, int]]:
        """The newest commit, and the files that are needed of it with their bytes."""
        try:
            from huggingface_hub import HfApi, hf_hub_download

            api = HfApi(endpoint=self._endpoint, token=self._token)
            told = api.model_info(self._name, files_metadata=True)
            sizes = {
                one.rfilename: one.size or 0
                for one in told.siblings or ()
                if not _OUTSIDE.search(f"/{one.rfilename}/")
            }
            modules: Any = None
            if "modules.json" in sizes:
                path = hf_hub_download(**self._asked(told.sha, folder), filename="modules.json")
                modules = json.loads(Path(path).read_text("utf-8"))
        except Exception as error:
            raise self._failed(error) from error
        torch = importlib.util.find_spec("sentence_transformers") is not None
        files = needed(sizes, modules, torch=torch)
        if not files:
            raise Fault(
                "download_failed",
                "no ONNX export with tokenizer.json in this repository, and no weights that "
                "sentence-transformers, if it is installed, could read",
            )
        return told.sha or "main", {name: sizes[name] for name in files}

    def fetch(self, commit: str, files: dict[str, int], folder: Path) -> None:
        """The files into the folder, which is there when all of them are."""
        part = unfinished(folder)
        part.mkdir(parents=True, exist_ok=True)
        there = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
        missing = max(sum(files.values()) - there, 0)
        if shutil.disk_usage(part).free < missing + _SPARE:
            raise Fault("download_failed", f"the disk is full: {missing / 1e6:.0f} MB are needed")
        try:
            from huggingface_hub import hf_hub_download

            for name in files:
                hf_hub_download(**self._asked(commit, folder), filename=name)
        except Exception as error:
            raise self._failed(error) from error
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)

    def _asked(self, commit: str | None, folder: Path) -> dict[str, Any]:
        return {
            "repo_id": self._name,
            "revision": commit,
            "local_dir": unfinished(folder),
            "endpoint": self._endpoint,
            "token": self._token,
        }

    def _failed(self, error: Exception) -> Fault:
        """By its first line, the rest quotes headers and paths."""
        said = (str(error).strip().splitlines() or [""])[0][:150]
        return Fault("download_failed", f"{type(error).__name__}: {said} ({self._endpoint})")
