"""Takes rows in: events that are posted over HTTP, and the rows of copy jobs."""
