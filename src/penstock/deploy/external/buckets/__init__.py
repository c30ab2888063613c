"""Objects of buckets and of containers, which copies read."""
