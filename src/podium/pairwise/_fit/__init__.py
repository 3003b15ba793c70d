"""What the rankers share underneath: how a penalty is found from the votes."""
