"""One store, several programs: its owner listens on a loopback port, the others pass calls on.

Calls are named after the methods of ``CognitiveService``. A scope is resolved on the owner's side
alone; a caller names its conversation, which has to be a coding agent's.
"""
