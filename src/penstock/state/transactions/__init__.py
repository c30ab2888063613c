"""Writing to the state store: locks, and the writes of several threads together."""
