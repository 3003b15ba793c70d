"""Is it right? Held-out votes, misfit, stability."""
