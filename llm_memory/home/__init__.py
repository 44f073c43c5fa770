"""A home of memories without a bot: its settings, its folders, and the projects that use it."""
