"""One server at a time owns a project's folder (by a file lock) and its warehouse (by a lease)."""
