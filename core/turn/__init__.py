"""From AstrBot's events and requests to the engine's values, and what a turn needs beside them."""
