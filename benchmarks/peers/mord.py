"""mord: batch ordinal models on codes 0..K-1."""

import mord

VERSION = getattr(mord, "__version__", "")


def logistic_at(X, y, l2=1.0):
    """Fit; return a function from rows to codes. Minimises the sum of losses plus alpha/2 |w|²."""
    model = mord.LogisticAT(alpha=l2, max_iter=10_000).fit(X, y)
    return model.predict


def ordinal_ridge(X, y, l2=1.0):
    return mord.OrdinalRidge(alpha=l2).fit(X, y).predict
