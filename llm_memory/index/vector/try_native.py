"""Imports Chroma and uses it a little; ``native_trial.py`` runs it."""

from __future__ import annotations

import tempfile


def main() -> None:
    """An index of three records in a temporary folder."""
    from chromadb.api.client import Client
    from chromadb.config import Settings, System

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        settings = Settings(
            anonymized_telemetry=False,
            chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
            is_persistent=True,
            persist_directory=folder,
            migrations="apply",
            allow_reset=False,
        )
        system = System(settings)
        system.start()
        client = Client.from_system(system)
        collection = client.create_collection("native", embedding_function=None)
        vectors = [[float(row == column) for column in range(16)] for row in range(3)]
        collection.add(ids=["1", "2", "3"], embeddings=vectors)
        collection.query(query_embeddings=vectors[:1], n_results=2)
        client.close()
