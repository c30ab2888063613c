"""The functions that a template may call, and the one table of them all."""
