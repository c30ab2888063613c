"""Commands for tests of a project."""
