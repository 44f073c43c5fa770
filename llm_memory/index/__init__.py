"""Indexes that follow the vault, and can be deleted at will: words (SQLite FTS) and vectors
(Chroma).

Law: no result without the scope check.
"""
