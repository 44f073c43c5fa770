"""What the engine answers, as short texts for people and models."""
