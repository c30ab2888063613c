"""Raw batches become typed rows of a table, or rows of its quarantine."""
