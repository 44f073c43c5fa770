"""A bundled model, loaded in the process that holds the index: never in the bot's."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ....errors import EmbeddingFailed
from ..native_probe import LACKS_INSTRUCTIONS, NativeProbe
from ..ports import Fingerprint
from .bundled_packages import BUNDLED, BundledPackage

if TYPE_CHECKING:
    from ..ports import Vector, Vectors
    from .bundled_packages import Encode

LABEL: Final = "bundled"
_AT_ONCE: Final = 2
"""Documents between two looks at whether a query waits."""
_LONGEST_TEXT: Final = 2000
"""Characters. What a memory is about stands in them, and more would hold up waiting queries."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    encode: Encode
    fingerprint: Fingerprint


class BundledModel:
    """The best package that is there and runs. Thread-safe: queries go before documents.

    Reasons begin with a stable code: ``no_package``, ``native`` (it would end the process),
    ``broken_package``, ``encoding_failed``, and those of ``unit_rows``.

    Args:
        probe: Makes what says whether a package's native library runs here.
        packages: The better ones first.
    """

    def __init__(
        self,
        probe: Callable[[BundledPackage], NativeProbe],
        packages: Sequence[BundledPackage] = BUNDLED,
    ) -> None:
        self._probe = probe
        self._packages = packages
        self._loading = threading.Lock()
        self._loaded: _Loaded | None = None
        self._turns = threading.Condition()
        self._model_calls = 0

    def load(self) -> Fingerprint:
        """Import it and read its weights, once. Blocks for a second or more.

        Raises:
            EmbeddingFailed: why there is none.
        """
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded.fingerprint

    def query(self, text: str) -> Vector:
        """A unit vector, shape ``(dim,)``. Raises EmbeddingFailed."""
        with self._asks():
            vector: Vector = self._rows([text], is_query=True)[0]
            return vector

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Unit rows, shape ``(len(texts), dim)``. Raises EmbeddingFailed."""
        import numpy as np

        parts = []
        for start in range(0, len(texts), _AT_ONCE):
            self._let_them_ask()
            parts.append(self._rows(texts[start : start + _AT_ONCE], is_query=False))
        dim = self.load().dim
        return np.concatenate(parts) if parts else np.empty((0, dim), dtype=np.float32)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows as ``query`` gives them. Raises EmbeddingFailed."""
        import numpy as np

        return np.stack([self.query(text) for text in texts])

    @contextlib.contextmanager
    def _asks(self) -> Iterator[None]:
        with self._turns:
            self._model_calls += 1
        try:
            yield
        finally:
            with self._turns:
                self._model_calls -= 1
                self._turns.notify_all()

    def _let_them_ask(self) -> None:
        with self._turns:
            self._turns.wait_for(lambda: not self._model_calls)

    def _rows(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        self.load()
        assert self._loaded is not None  # noqa: S101  (``load`` has just returned)
        return _encoded(self._loaded.encode, texts, is_query=is_query)

    def _load(self) -> _Loaded:
        reason = "no_package"
        for package in self._packages:
            if not package.is_there:
                continue
            death = self._probe(package).refusal() if package.program is not None else ""
            if not death:
                return _load(package)
            reason = f"native: {package.module} {death}"
            if death not in LACKS_INSTRUCTIONS:
                break  # it may run next time, and vectors of another model are of no use then
        raise EmbeddingFailed(reason)


def _load(package: BundledPackage) -> _Loaded:
    if damaged := package.damage():
        raise EmbeddingFailed(f"broken_package: {package.module}/{damaged}")
    try:
        encode = package.load()
    except Exception as error:  # absent parts, a numpy of another generation, weights in disorder
        what = error.name if isinstance(error, ModuleNotFoundError) else type(error).__name__
        raise EmbeddingFailed(f"broken_package: {package.module}, {what}") from error
    dim = _encoded(encode, ["a", "一"], is_query=False).shape[1]
    return _Loaded(encode, Fingerprint(f"{LABEL}:{package.module}", dim, package.version))


def _encoded(encode: Encode, texts: Sequence[str], *, is_query: bool) -> Vectors:
    readable = [_readable(text) for text in texts]
    try:
        vectors = encode(readable, is_query)
    except Exception as error:
        raise EmbeddingFailed(f"encoding_failed: {type(error).__name__}") from error
    return vectors


def _readable(text: str) -> str:
    """Cut, without halves of surrogate pairs, and without the zero that ends a text in C."""
    return text[:_LONGEST_TEXT].replace("\0", " ").encode(errors="replace").decode()
