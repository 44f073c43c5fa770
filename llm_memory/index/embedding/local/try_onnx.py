"""Imports onnxruntime and uses it a little; ``native_trial.py`` runs it."""

from __future__ import annotations

import base64

_PRODUCT = base64.b64decode(
    b"CAg6QAoRCgF4CgF4EgF5IgZNYXRNdWwSAWdaEwoBeBIOCgwIARIICgIICAoCCAhi"
    b"EwoBeRIOCgwIARIICgIICAoCCAhCAhAN"  # two lines
)
"""An ONNX model of one node, y = x times x, of 8 x 8 floats: what ends a process on a processor
that the library was not built for is the arithmetic, and not always the import."""


def main() -> None:
    """The operation that a sentence encoder is made of."""
    import numpy as np
    import onnxruntime
    import tokenizers  # noqa: F401 - native, too

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        _PRODUCT, sess_options=options, providers=["CPUExecutionProvider"]
    )
    session.run(["y"], {"x": np.ones((8, 8), dtype=np.float32)})
