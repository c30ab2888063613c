"""Deployments from plan to retirement, and the running pipeline that carries them out."""
