"""Pure rules about single memories."""
