"""Raw rows on disk and in the batch log before they are acknowledged."""
