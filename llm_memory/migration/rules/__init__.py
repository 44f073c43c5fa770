"""Pure rules of migration: what a foreign record says, and what becomes of it."""
