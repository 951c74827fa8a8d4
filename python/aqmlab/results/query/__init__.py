"""Questions in SQL to the tables of campaigns, which DuckDB answers."""
