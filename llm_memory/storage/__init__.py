"""SQLite, files, locks, processes: what any store needs of the machine."""
