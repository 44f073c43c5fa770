"""Pure rules of sync: which files are still being written."""
