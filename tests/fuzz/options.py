"""Options of functions and classes, drawn from what their signatures say."""

import inspect

from fuzz import inputs
from fuzz.inputs import odd, pick, value

# Options that make sense now and then; others are drawn from `value`.
OPTIONS = {
    "l2": (0.0, 1e-3, 1.0, 1e9), "unranked": ("below", "unknown", None), "ties": ("half", "davidson", "efron", "label", "average", "worst"), "scale": ("elo", "log-odds"),
    "anchor": (("i0", 0.0), {"i0": 1.0}), "row_weights": ("size", {"i0": 0.5}), "max_norm": ((1.0, 1.0), (0.1, 5.0)), "loss": ("logistic", "squared", "hinge", "sum@1", "prec@2", "ndcg@2"), "max_iter": (1, 50),
    "tol": (1e-6, 0.5), "feature_penalty": ("auto", 1.0, 0.0), "residual_penalty": ("auto", 1.0, 0.0), "schedule": ("sqrt", "fixed"),
    "missing": ("error", "mean"), "variant": ("pa", "pa1", "pa2"), "classes": ([0, 1, 2], ["a", "b"], None), "C": (1.0, 1e-9, 1e9),
    "random_state": (0, 1), "scorer": ("linear", "auto", "trees", "stream"), "surrogate": ("auto", "univariate", "softmax", "pairwise"),
    "mode": ("marginal", "threshold", "experts"), "experts": (1, 3), "rate": (0.5, 1e9), "level": (0.9, 0.5), "kind": ("loss", "gain"),
    "empty": ("best", "worst", "skip"), "gain": ("exp", "linear"), "p": (1, 2), "k": (1, 2, 16.0), "preset": ("quick", "exact", "few_rounds", "paper"),
    "goal": ("order", ("top", 1)), "budget": (1, 5, None), "random_share": (0.0, 0.5), "seed": (0, 1), "method": ("bootstrap", "hessian"),
    "drift": ("auto", 0.0, 0.1, 1e9), "sd": ("auto", 1.0, 1e-9), "at": (5, "2024-01-01"), "half_life": (3, "90d"), "side_advantage": (60.0, 0.0),
    "kind_of": ("auto",), "uncertainty": ("auto", "hessian", "sandwich", "cluster", "bootstrap"), "cluster": ("judge", "group", "ranking"),
}  # fmt: skip
HEAVY = (
    "max_iter",
    "replicates",
    "draws",
    "samples",
    "budget",
    "experts",
    "threads",
    "n_labels",
    "horizon",
    "restarts",
)


def options(rng, function, share=0.3, skip=()):
    """Some of the keyword options of a function, with values that are right, odd or absurd."""
    chosen = {}
    for name, parameter in inspect.signature(function).parameters.items():
        wanted = parameter.kind is parameter.KEYWORD_ONLY or parameter.default is not parameter.empty
        if not wanted or name in skip or name == "self" or rng.random() > share:
            continue
        known = OPTIONS.get(name, (parameter.default,))
        if isinstance(parameter.default, int | float) and not isinstance(parameter.default, bool):
            known = [each for each in known if isinstance(each, int | float)] or [parameter.default]
        chosen[name] = pick(rng, known) if name in HEAVY or not odd(rng, 0.5) else strange_option(rng, known)
        if name in HEAVY and odd(rng, 0.3):
            chosen[name] = pick(rng, (0, -1, "x", None, [], 1.5, object(), True))
    return chosen


def strange_option(rng, known):
    """Another number for a number, another word for a word, or a thing of another type."""
    if odd(rng, 0.3):
        return value(rng)
    if any(isinstance(each, bool) for each in known):
        return bool(rng.integers(2))
    if all(isinstance(each, int) for each in known):
        return pick(rng, (0, 1, -1, 2**31, 10**30))
    if any(isinstance(each, int | float) for each in known):
        return pick(rng, (*inputs.NUMBERS, *inputs.NO_NUMBERS))
    if any(isinstance(each, str) for each in known):
        return pick(rng, inputs.TEXTS)
    return pick(rng, known)
