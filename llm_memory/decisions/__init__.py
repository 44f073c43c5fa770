"""Proposed decisions, and the records of accepted ones in ``shared/``."""
