"""Fetches a named model from the hub or its mirror, behind the bot and in a process of its own."""
