"""results.verdicts."""
