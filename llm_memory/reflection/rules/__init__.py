"""Pure rules of reflection: when a call pays, prompt, reply, and what may be replaced."""
