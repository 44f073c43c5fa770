"""Out of a store and into one: exports, imports, restore. Nightly backups are consolidation's."""
