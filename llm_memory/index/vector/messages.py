"""What crosses the pipes between us and the process that holds Chroma: pickles of a few classes.

We send ``(number, name, arguments)``, and None for the end; it answers ``(PART, number, value)``
any number of times, then ``(DONE, number, None)`` or ``(ERROR, number, error)``. ``(LOG, level,
text)`` is for the log.

A pickle says by itself where it ends. It names a class by its own name alone, for the engine's
package is called otherwise in that process, and no class but those listed here is ever made.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from ...errors import EmbeddingFailed, IndexFull, IndexUnavailable
from ...models.passages import Key
from ...models.scope import Place, ScopeFilter
from ..embedding.ports import Fingerprint
from .ports import IndexRecord, Neighbour, Neighbours

if TYPE_CHECKING:
    import numpy as np

GREETING: Final = b"\x00scoped-memory-worker-2\n"
"""What a child sends before its first message. Whatever was printed before is passed over."""
PART: Final = "part"
DONE: Final = "done"
ERROR: Final = "error"
LOG: Final = "log"


def packed(message: object) -> bytes:
    """As it is sent."""
    stream = io.BytesIO()
    _Writer(stream, pickle.HIGHEST_PROTOCOL).dump(message)
    return stream.getvalue()


def next_message(stream: BinaryIO) -> Any:
    """The next message. Blocks.

    Raises:
        EOFError, UnpicklingError: there is no whole one any more, or it names another class.
        Exception: any other, for bytes that are no message.
    """
    return _Reader(stream).load()


def _place(name: str) -> Place:
    return Place.named(name) or Place.parse(name, derived=True)


def _rows(shape: Sequence[int], body: bytes) -> np.ndarray[Any, np.dtype[np.float32]]:
    import numpy as np

    return np.frombuffer(body, dtype=np.float32).reshape(shape)


_VALUES: Final = (Fingerprint, IndexRecord, Key, Neighbour, Neighbours, ScopeFilter)
_ERRORS: Final = (EmbeddingFailed, IndexFull, IndexUnavailable, TypeError, ValueError)
_MAKERS: Final = (_rows, _place, float, str)
_KNOWN: Final[Mapping[str, Any]] = {one.__name__: one for one in (*_VALUES, *_ERRORS, *_MAKERS)}


class _Writer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        """How what is no plain value is made again. Raises TypeError for what no message names."""
        known = value if isinstance(value, type | FunctionType) else type(value)
        if known is Place:  # as its name, which is checked there
            return _place, (value.name,)
        if _KNOWN.get(known.__name__) is known:
            # A tuple by its shorter way: there are many keys.
            return (known, tuple(value)) if isinstance(value, tuple) else NotImplemented
        if isinstance(value, str):
            return str, (str.__str__(value),)
        if isinstance(value, float):
            return float, (float(value),)
        if hasattr(value, "__array__"):
            import numpy as np

            rows = np.ascontiguousarray(value, dtype=np.float32)
            return _rows, (rows.shape, rows.tobytes())
        raise TypeError(f"no message names {known.__name__!r}")


class _Reader(pickle.Unpickler):
    def find_class(self, _module: str, name: str) -> Any:
        """Raises UnpicklingError for a class that is none of ours."""
        if name not in _KNOWN:
            raise pickle.UnpicklingError(f"no message names {name!r}")
        return _KNOWN[name]
