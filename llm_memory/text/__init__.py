"""Words, tokens, similar statements. Knows no scope."""
