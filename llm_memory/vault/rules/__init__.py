"""Pure rules of vault files."""
