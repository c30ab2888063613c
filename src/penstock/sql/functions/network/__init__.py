"""Functions on URLs and IP addresses."""
