"""What the first turn after a pause is told."""
