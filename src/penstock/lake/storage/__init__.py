"""The files of the warehouse as files: what a table refers to, and how it is moved to another folder. No Spark."""
