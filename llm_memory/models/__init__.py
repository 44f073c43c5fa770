"""Values that several packages share. Pure."""
