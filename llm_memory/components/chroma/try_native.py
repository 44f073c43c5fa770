"""Imports Chroma and uses it a little; run as a program of its own, which may die of it."""

from __future__ import annotations

import faulthandler
import os
import tempfile
import threading

SECONDS = 200


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


def end_with_parent() -> None:
    """The other end of our standard input closes when whoever started us is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    # A thread of C's: it ends us even where the import hangs and holds the interpreter's lock.
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    threading.Thread(target=end_with_parent, daemon=True).start()
    main()
    os._exit(0)  # what is left of Chroma is not asked to end in order
