"""Imports torch and uses it a little; run as a program of its own, which may die of it."""

from __future__ import annotations

import faulthandler
import os
import threading

SECONDS = 200


def main() -> None:
    """The operations that a sentence encoder is made of."""
    import sentence_transformers  # noqa: F401 - its own native packages, too
    import torch

    torch.set_num_threads(1)
    layer = torch.nn.Linear(64, 64)
    with torch.inference_mode():
        rows = torch.nn.functional.normalize(layer(torch.ones(8, 64)))
        (rows @ rows.T).softmax(dim=-1).sum().item()


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
