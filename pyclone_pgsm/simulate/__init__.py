"""Made-up tumours with a known truth."""
