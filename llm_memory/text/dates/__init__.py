"""Time expressions in Chinese and English. Pure."""
