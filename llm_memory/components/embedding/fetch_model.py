"""Downloads one model; run as a program of its own, so that it can be killed.

    python fetch_model.py NAME CACHE_FOLDER

CACHE_FOLDER may be empty: the hub library's own place. Exit status 0 when all files are there; else
the last line of standard error names what failed.
"""

from __future__ import annotations

import importlib.util
import sys

_NEVER = ("*.onnx", "onnx/*", "openvino/*", "*.ot", "*.h5", "*.msgpack", "*.gguf", "*.tflite")
_OLD_WEIGHTS = ("*.bin", "*.pt", "*.pth")


def main(name: str, cache_folder: str) -> None:
    """Weights in one format only: many repositories hold the same model five times."""
    if importlib.util.find_spec("sentence_transformers") is None:
        sys.exit("sentence-transformers is not installed, nothing was downloaded")
    from huggingface_hub import HfApi, snapshot_download

    files = HfApi().list_repo_files(name)
    modern = any(file.endswith(".safetensors") for file in files)
    ignored = [*_NEVER, *_OLD_WEIGHTS] if modern else [*_NEVER]
    snapshot_download(name, cache_dir=cache_folder or None, ignore_patterns=ignored)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: fetch_model.py NAME CACHE_FOLDER")
    main(sys.argv[1], sys.argv[2])
