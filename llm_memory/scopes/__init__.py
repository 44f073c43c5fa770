"""Which scope a conversation has, who may see what, and which conversations are paused."""
