"""Campaigns: people, models and files answer which of two; the order is live. No HTTP, and no clock of its own.

Times are milliseconds since 1970, passed in as `now`: the web takes them from `store.now()`, the database's clock.
"""
