"""What differs between two versions of a project, and what those differences reach."""
