"""river: online regression on dictionaries, one example at a time."""

from river import linear_model


def learn(rows, labels):
    """Learn every (dict, float) in turn with river's passive-aggressive regressor."""
    model = linear_model.PARegressor()
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    return model
