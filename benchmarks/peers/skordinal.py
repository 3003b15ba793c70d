"""skordinal: batch ordinal models in scikit-learn's form."""

from skordinal.classifiers import LogisticAT


def logistic_at(X, y):
    """Fit with its defaults; return a function from rows to codes."""
    return LogisticAT().fit(X, y).predict
