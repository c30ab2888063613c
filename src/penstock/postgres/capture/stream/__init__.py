"""The replication connection: its bytes, its messages, and what is confirmed to it."""
