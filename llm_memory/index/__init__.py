"""Indexes that follow the vault, and can be deleted at will: words (postings in SQLite) and vectors
(Chroma).

Law: no result without the scope check.
"""
