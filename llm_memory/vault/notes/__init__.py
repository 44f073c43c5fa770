"""Other Markdown under the memory root, indexed by heading."""
