"""What the parts of a running pipeline share: tables, records, running deployments and flows, periodic tasks."""
