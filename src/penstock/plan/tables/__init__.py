"""The tables, columns and flows of a data source: as they run now and as the next version has them."""
