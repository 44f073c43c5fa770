"""Pure rules of recall: what is relevant, and in which order."""
