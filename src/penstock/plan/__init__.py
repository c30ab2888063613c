"""The planner: from two versions of a project to the steps that lead from one to the other."""
