"""What is stored, held in memory by scope, day, speaker and place."""
