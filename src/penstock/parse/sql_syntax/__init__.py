"""SQL as it stands in datafiles: keys of engines, and calls that would change their meaning."""
