"""What every part of a running pipeline works with: the core, active readers, periodic tasks."""
