"""Pure rules of writing."""
