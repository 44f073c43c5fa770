"""The index of vectors: Chroma, in a process of its own or at a server."""
