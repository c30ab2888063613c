"""Commands about a project's files; most of them need no server."""
