"""Views without the rows for which they fail, and what is tried in a process of its own to find such rows."""
