"""Files of rows as bodies of limited size."""
