"""Pictures and pages from values."""
