"""The program in which a model runs, and by which one is fetched; ``model.py`` is the bot's end.

Native libraries may leak, hang, or end the process that imports them: here that costs one call.
Each question names the model, so that a process which was started anew opens it again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..child.program import Answer, Fault, Handlers, loading
from .bundled import BUNDLED
from .local.encoders import OnnxModel, TorchModel, open_onnx
from .local.folder import content_revision, exported_graph
from .local.hub import fetch

if TYPE_CHECKING:
    from .bundled import Encode
    from .ports import Vectors

    type Opened = tuple[str, str, Encode]
    """A model in memory, with its name and its revision."""

type Fields = Mapping[str, Any]

_ONNX: Final = ("onnxruntime", "tokenizers")
_TORCH: Final = ("torch", "sentence_transformers")


class Models:
    """The one model of the process: the one that was asked for last."""

    def __init__(self) -> None:
        self._of: object = None
        self._opened: Opened | None = None

    def embed(self, fields: Fields, _: bytes) -> Answer:
        """Rows for ``texts``, of which model and in which ``revision``.

        Raises Fault: ``no_package``, ``broken_package``, ``native``, ``no_onnxruntime``,
        ``no_sentence_transformers`` or ``broken_model``; ``encoding_failed``; and ``model_changed``
        where its files are not those of the ``revision`` that is asked for.
        """
        model, revision, encode = self._open(fields)
        if fields.get("revision", revision) != revision:
            raise Fault("model_changed", model)
        try:
            rows: Vectors = encode(fields["texts"], fields["is_query"])
        except Exception as error:  # whatever a library, and a model's own code, raise
            raise Fault("encoding_failed", type(error).__name__) from error
        import numpy as np

        told = {"model": model, "revision": revision}
        return told, np.ascontiguousarray(rows, dtype=np.float32).tobytes()

    def _open(self, fields: Fields) -> Opened:
        of = fields["kind"], fields.get("folder"), fields.get("name")
        if self._opened is None or self._of != of:
            self._opened = None  # before another takes as much memory again
            self._opened, self._of = (_local if "folder" in fields else _bundled)(fields), of
        return self._opened


def _bundled(fields: Fields) -> Opened:
    """The best package that is there and runs."""
    failed = Fault("no_package", "none is installed")
    for package in BUNDLED:
        if find_spec(package.module) is None:
            continue
        try:
            _announce(package.module, fields)
            encode = package.load()
        except Fault as refusal:
            failed = refusal
            continue
        except Exception as error:  # absent parts, a numpy of another generation, disorder
            raise Fault("broken_package", f"{package.module}, {_what(error)}") from error
        revision = ""
        with contextlib.suppress(metadata.PackageNotFoundError):
            revision = metadata.version(package.distribution)
        return f"bundled:{package.module}", revision, encode
    raise failed


def _local(fields: Fields) -> Opened:
    """An ONNX export, or what sentence-transformers reads."""
    folder, name = Path(fields["folder"]), fields["name"]
    try:
        model: OnnxModel | TorchModel | None = None
        if exported_graph(folder) is not None:
            _import(_ONNX, "no_onnxruntime", fields)
            model = open_onnx(folder, name)
        if model is None:
            _import(_TORCH, "no_sentence_transformers", fields)
            model = TorchModel(folder, name)
        revision = content_revision(folder, model.how)
        return f"local:{Path(name).name}", revision, model.encode
    except Fault:
        raise
    except Exception as error:  # whatever foreign libraries raise over foreign files
        raise Fault("broken_model", type(error).__name__) from error


def _import(modules: tuple[str, ...], code: str, fields: Fields) -> None:
    for module in modules:
        _announce(module, fields)
        try:
            import_module(module)
        except Exception as error:
            # Absent, or there and broken: a missing shared library, a numpy of another generation.
            raise Fault(code, _what(error)) from error


def _announce(module: str, fields: Fields) -> None:
    """Raises Fault for one that has ended a process on this machine."""
    if death := fields["deaths"].get(module):
        raise Fault("native", f"{module} {death}")
    loading(module)


def _what(error: Exception) -> str:
    """The module that is not there, or the kind of error."""
    return str(getattr(error, "name", None) or type(error).__name__)


def handlers() -> Handlers:
    """What can be asked."""
    return {"embed": Models().embed, "fetch": fetch}
