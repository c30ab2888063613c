"""Commands for copies."""
