"""The command line, ``python -m llm_memory``: export, import, restore and migrations of a store
that no bot has open.
"""
