"""Writes: gate, privacy, duplicates, edit, move, forget, undo, corrections.

Entry: ``MemoryHandlers``. Law: what was acknowledged is on disk; duplicates are looked for in the
scope being written only.
"""
