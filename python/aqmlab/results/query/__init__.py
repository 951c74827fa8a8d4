"""SQL queries over the tables of campaigns, run by DuckDB."""
