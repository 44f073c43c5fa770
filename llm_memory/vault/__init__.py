"""The Markdown truth: files, entries, ledger, archive.

Law: ``parse(render(x)) == x``; nothing is acknowledged before it is on disk.
"""
