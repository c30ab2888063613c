"""The server's program: its process, logs, admin token and restarts."""
