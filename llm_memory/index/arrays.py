"""numpy, which who first needs it imports: with it the plugin would start late, and words are found
roughly without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import IndexUnavailable

__all__ = ["Flags", "Floats", "Ints", "np"]


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

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]
type Flags = NDArray[np.bool_]
