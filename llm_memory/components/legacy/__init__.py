"""Reading what other plugins left on the disk. Nothing here ever writes to it."""
