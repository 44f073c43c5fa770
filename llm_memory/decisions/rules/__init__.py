"""What of a decision is published. Pure."""
