"""What SOUL.md may say, and how it is written. Pure."""
