"""Pure rules of scopes: the map, its keys, what was lost, how a conversation is resolved."""
