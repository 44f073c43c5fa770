"""Follows a person's edits of vault files and applies them: an edit wins, a deletion forgets, a
move moves.

Entry: ``Reconciler``.
"""
