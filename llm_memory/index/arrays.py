"""numpy, which an engine imports while it opens: with it the plugin would start late, and words are
found roughly without it."""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import IndexUnavailable

__all__ = ["Flags", "Floats", "Ints", "import_numpy", "np"]


class _Numpy:
    def __getattr__(self, name: str) -> object:
        """Raises IndexUnavailable: ``no_numpy``."""
        try:
            import numpy
        except ImportError as error:
            raise IndexUnavailable(f"no numpy: {error}", code="no_numpy") from error
        return getattr(numpy, name)


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = _Numpy()


def import_numpy() -> None:
    """Do so if it is there; belongs into a thread, which it takes 50 ms of."""
    with contextlib.suppress(ImportError):
        import_module("numpy")


type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]
type Flags = NDArray[np.bool_]
