"""Finished turns: queued durably, read by a chat model within a budget, applied in the scope in
which they were said.

Entry: ``ReflectionService``; ``TurnQueue`` queues turns.
"""
