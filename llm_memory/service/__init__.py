"""The front door. ``CognitiveService`` has a conversation's scope resolved and asks the packages
below, which take an already resolved one. ``Parts`` wires them.
"""
