"""The format of entries and pages. Pure."""
