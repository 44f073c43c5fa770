"""The manner that a persona has learned: its text, what may be in it, and how it changes."""
