"""The migrations of the state store, a module each."""
