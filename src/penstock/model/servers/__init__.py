"""Servers as other programs on the machine see them: what tells them, and their processes, apart."""
