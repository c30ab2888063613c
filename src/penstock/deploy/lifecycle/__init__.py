"""The life of a deployment, from its plan to its retirement: steps, promotion, undo, clean-up, drift, progress."""
