"""The command line: what ``python -m llm_memory`` does."""
