"""river: one logistic regression per label, on dictionaries, one example at a time."""

from river import linear_model, multioutput, optim


def learn(rows, labels):
    """Predict, then learn, every (dict, dict) in turn."""
    model = multioutput.ClassifierChain(linear_model.LogisticRegression(optim.AdaGrad(0.5)))
    for x, y in zip(rows, labels, strict=True):
        model.predict_proba_one(x)
        model.learn_one(x, y)
    return model
