"""Finished turns: queued durably (``TurnQueue``), read by a chat model within a budget, and applied
in the scope in which they were said (``ReflectionService``)."""
