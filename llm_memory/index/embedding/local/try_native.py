"""Imports torch and uses it a little; ``native_trial.py`` runs it."""

from __future__ import annotations


def main() -> None:
    """The operations that a sentence encoder is made of."""
    import sentence_transformers  # noqa: F401 - its own native packages, too
    import torch

    torch.set_num_threads(1)
    layer = torch.nn.Linear(64, 64)
    with torch.inference_mode():
        rows = torch.nn.functional.normalize(layer(torch.ones(8, 64)))
        (rows @ rows.T).softmax(dim=-1).sum().item()
