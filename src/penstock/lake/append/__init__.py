"""Appends that this process makes itself: Arrow rows become files and a commit, without Spark."""
