"""Tables of other databases, which copies read."""
