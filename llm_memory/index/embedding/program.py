"""The program in which a model runs, and by which one is fetched; ``model.py`` is the bot's end.

Native libraries may leak, hang, or end the process that imports them: here that costs one call.
What is asked names the model, so that a process which was started anew opens it again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...errors import EmbeddingFailed
from ..child.program import Answer, Fault, Handlers, Json, loading
from .bundled import BUNDLED
from .local.folder import content_revision, exported_graph
from .local.hub import Hub
from .local.onnx import OnnxModel, open_onnx
from .local.torch import TorchModel
from .unit import CONTROL, unit

if TYPE_CHECKING:
    from .bundled import Encode
    from .ports import Vectors

_ONNX: Final = ("onnxruntime", "tokenizers")
_TORCH: Final = ("torch", "sentence_transformers")


class _Opened(NamedTuple):
    """A model in memory."""

    model: str
    revision: str
    encode: Encode


class Models:
    """The one model of the process: the one that was asked for last."""

    def __init__(self) -> None:
        self._of = ""
        self._opened: _Opened | None = None

    def load(self, fields: Mapping[str, Json], _: bytes) -> Answer:
        """Raises Fault: ``no_package``, ``broken_package``, ``native``, ``no_onnxruntime``,
        ``no_sentence_transformers`` or ``broken_model``."""
        opened = self._open(fields)
        try:
            dim = len(unit(opened.encode([CONTROL], True)[0], 0))
        except Exception as error:
            kind = error.code if isinstance(error, EmbeddingFailed) else type(error).__name__
            raise Fault(f"broken_{fields['kind']}", kind) from error
        return {"model": opened.model, "revision": opened.revision, "dim": dim}, b""

    def embed(self, fields: Mapping[str, Json], _: bytes) -> Answer:
        """Rows for ``texts``. Raises Fault as ``load`` does; ``encoding_failed``; and
        ``model_changed`` where its files are not those that it was loaded from."""
        import numpy as np

        opened = self._open(fields)
        if opened.revision != fields["revision"]:
            raise Fault("model_changed", opened.model)
        try:
            rows: Vectors = opened.encode(_texts(fields), fields["is_query"] is True)
        except Exception as error:  # whatever a library, and a model's own code, raise
            raise Fault("encoding_failed", type(error).__name__) from error
        return {}, np.ascontiguousarray(rows, dtype=np.float32).tobytes()

    def _open(self, fields: Mapping[str, Json]) -> _Opened:
        of = f"{fields['kind']} {fields.get('folder')} {fields.get('name')}"
        if self._opened is None or self._of != of:
            self._opened = None  # before another takes as much memory again
            self._opened, self._of = (_local if "folder" in fields else _bundled)(fields), of
        return self._opened


def _bundled(fields: Mapping[str, Json]) -> _Opened:
    """The best package that is there and runs."""
    failed = Fault("no_package", "none is installed")
    for package in BUNDLED:
        if not package.is_there:
            continue
        try:
            _announce(package.module, fields)
        except Fault as refusal:
            failed = refusal
            continue
        if damaged := package.damage():
            raise Fault("broken_package", f"{package.module}/{damaged}")
        try:
            encode = package.load()
        except Exception as error:  # absent parts, a numpy of another generation, disorder
            raise Fault("broken_package", f"{package.module}, {_what(error)}") from error
        return _Opened(f"bundled:{package.module}", package.version, encode)
    raise failed


def _local(fields: Mapping[str, Json]) -> _Opened:
    """An ONNX export, or what sentence-transformers reads."""
    folder, name = Path(str(fields["folder"])), str(fields["name"])
    try:
        model: OnnxModel | TorchModel | None = None
        if exported_graph(folder) is not None:
            _import(_ONNX, "no_onnxruntime", fields)
            model = open_onnx(folder, name)
        if model is None:
            _import(_TORCH, "no_sentence_transformers", fields)
            model = TorchModel(folder, name)
        return _Opened(
            f"local:{Path(name).name}", content_revision(folder, model.how), model.encode
        )
    except Fault:
        raise
    except Exception as error:  # whatever foreign libraries raise over foreign files
        raise Fault("broken_model", type(error).__name__) from error


def _import(modules: Sequence[str], code: str, fields: Mapping[str, Json]) -> None:
    for module in modules:
        _announce(module, fields)
        try:
            import_module(module)
        except Exception as error:
            # Absent, or there and broken: a missing shared library, a numpy of another generation.
            raise Fault(code, _what(error)) from error


def _announce(module: str, fields: Mapping[str, Json]) -> None:
    """Raises Fault for one that has ended a process on this machine."""
    deaths = fields.get("deaths")
    if isinstance(deaths, dict) and module in deaths:
        raise Fault("native", f"{module} {deaths[module]}")
    loading(module)


def _what(error: Exception) -> str:
    lacks = isinstance(error, ModuleNotFoundError) and error.name
    return str(lacks) if lacks else type(error).__name__


def _texts(fields: Mapping[str, Json]) -> list[str]:
    texts = fields["texts"]
    return [str(text) for text in texts] if isinstance(texts, list) else []


def _listed(fields: Mapping[str, Json], _: bytes) -> Answer:
    commit, files = _hub(fields).listed(Path(str(fields["folder"])))
    return {"commit": commit, "files": dict(files)}, b""


def _fetched(fields: Mapping[str, Json], _: bytes) -> Answer:
    files: Any = fields["files"]
    _hub(fields).fetch(str(fields["commit"]), files, Path(str(fields["folder"])))
    return {}, b""


def _hub(fields: Mapping[str, Json]) -> Hub:
    os.environ |= dict.fromkeys(("NO_PROXY", "no_proxy"), str(fields["no_proxy"]))
    return Hub(str(fields["name"]), str(fields["mirror"]))


def handlers() -> Handlers:
    """What can be asked."""
    models = Models()
    return {"load": models.load, "embed": models.embed, "list": _listed, "fetch": _fetched}
