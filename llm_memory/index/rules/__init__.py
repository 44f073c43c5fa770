"""Pure rules of the indexes."""
