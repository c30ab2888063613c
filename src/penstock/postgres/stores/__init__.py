"""The stores: what they have, and how they carry out the steps of a migration."""
