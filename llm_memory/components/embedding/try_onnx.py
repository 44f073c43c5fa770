"""Imports onnxruntime and uses it a little; run as a program of its own, which may die of it."""

from __future__ import annotations

import base64
import faulthandler
import os
import threading

SECONDS = 200

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


def end_with_parent() -> None:
    """The other end of our standard input closes when whoever started us is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    # A thread of C's: it ends us even where the import hangs and holds the interpreter's lock.
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    threading.Thread(target=end_with_parent, daemon=True).start()
    main()
    os._exit(0)
