"""The command line, ``python -m llm_memory``: over a bot's store, and over a home."""
