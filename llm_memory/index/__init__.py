"""Indexes that follow the vault, and can be deleted at will: words and vectors, both searched in
memory.

Law: no result without the scope check.
"""
