"""Pure rules of transfer: the format, and which settings are carried."""
