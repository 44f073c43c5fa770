"""The front door. ``CognitiveService`` resolves a conversation's scope, here alone, and asks the
packages below.
"""
