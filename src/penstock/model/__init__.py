"""The values that projects, plans and deployments are made of."""
