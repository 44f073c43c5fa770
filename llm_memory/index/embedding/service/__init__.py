"""An embedding service at an address, for programs that no host application brings one."""
