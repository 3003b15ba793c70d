"""statsmodels: OrderedModel, proportional odds by maximum likelihood."""

import warnings

from statsmodels.miscmodels.ordinal_model import OrderedModel


def ordered_logit(X, y):
    """Fit; return a function from rows to codes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = OrderedModel(y, X, distr="logit").fit(method="bfgs", disp=0, maxiter=500)
    return lambda rows: found.model.predict(found.params, exog=rows).argmax(axis=1)
