"""Whether the views of the next version give the same rows as the live ones."""
