"""What is compared of two versions, and what the comparison found."""
