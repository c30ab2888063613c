"""A plan as people read it: its text, and how it is printed."""
