"""Out of a store and into one: exports, imports, backups, restore."""
