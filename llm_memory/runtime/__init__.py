"""Life of tasks: lifecycle, ids, notices, cooperative threads."""
