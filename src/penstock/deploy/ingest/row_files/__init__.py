"""Rows of CSV and Parquet files, as the JSON rows that a data source takes."""
