"""campaign.store."""
