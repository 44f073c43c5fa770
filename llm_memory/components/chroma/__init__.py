"""Chroma, the vector index: names, records, the connection. The store above is one file up."""
