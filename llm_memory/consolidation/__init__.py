"""The nightly run: decay, merging, overviews, purging, backups.

Entry: ``Night``.
"""
