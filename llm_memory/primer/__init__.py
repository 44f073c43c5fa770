"""The primer: what the model is told in the first turn after a pause."""
