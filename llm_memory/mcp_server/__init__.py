"""Six tools for coding agents over the Model Context Protocol, and the server that offers them.

A tool answers text, always: what went wrong is said in words, and no exception reaches the SDK.
Clients name neither scopes nor files of the disk: levels and printed paths are all they know.
"""
