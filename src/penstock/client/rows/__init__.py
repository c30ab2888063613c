"""Rows on their way to the server: from values of Python or Arrow to bodies of bounded size."""
