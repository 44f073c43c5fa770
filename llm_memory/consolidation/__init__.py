"""The nightly run: decay, merging, journals, overviews, purging, backups.

Entry: ``ConsolidationService``.
"""
