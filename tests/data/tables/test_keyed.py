"""Distinct rows in one growing table against a plain dict."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium.data.tables.keyed import KeyedRows


def pieces(roles, rows, n, rng, *, weight=False, margin=False, time=False, covariates=0, count=False):
    for _ in range(3):
        piece = {name: rng.integers(0, n, rows).astype(np.int32) for name in roles}
        if "outcome" in piece:
            piece["outcome"] = rng.integers(-1, 2, rows).astype(np.int8)
        if weight:
            piece["weight"] = rng.exponential(size=rows)
        if margin:
            piece["margin"] = rng.normal(size=rows)
        if time:
            piece["time"] = rng.integers(0, 3, rows) - 1.0
            piece["time"][piece["time"] == 0] = rng.choice([0.0, -0.0], np.count_nonzero(piece["time"] == 0))
        if covariates:
            piece["covariates"] = rng.integers(0, 2, (rows, covariates)) * 1.5
        if count:
            piece["count"] = rng.integers(1, 5, rows)
        yield piece


CASES = {
    "pairs": {"roles": ("left", "right")},
    "three codes": {"roles": ("left", "right", "outcome"), "weight": True},
    "judges and times": {"roles": ("left", "right", "outcome", "judge"), "time": True, "weight": True},
    "covariates": {"roles": ("left", "right"), "covariates": 2, "time": True},
    "margins": {"roles": ("left", "right", "outcome"), "margin": True, "weight": True},
    "margins of counts": {"roles": ("left", "right", "outcome", "group", "by"), "margin": True, "count": True},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("rows", "n"), [(50, 4), (3000, 120)])
def test_rows_are_those_of_a_dict(case, rows, n):
    options = CASES[case]
    rng = np.random.default_rng(rows)
    known, table = {}, None
    for piece in pieces(rows=rows, n=n, rng=rng, **options):
        table = KeyedRows(piece) if table is None else pickle.loads(pickle.dumps(table))
        table.add(piece)
        for k in range(rows):
            key = tuple(int(piece[name][k]) for name in options["roles"])
            key += tuple(piece["covariates"][k]) if "covariates" in piece else ()
            key += (float(piece["time"][k]) + 0.0,) if "time" in piece else ()
            votes = int(piece["count"][k]) if "count" in piece else 1
            weight = float(piece["weight"][k]) if "weight" in piece else float(votes)
            square = weight**2 if "weight" in piece else weight
            known.setdefault(key, []).append((votes, weight, square, piece["margin"][k] if "margin" in piece else 0.0))
    if n == 120:
        assert len(known) > 3000  # the table has grown
    found = table.rows()
    columns = [found[name].tolist() for name in options["roles"]]
    columns += found["covariates"].T.tolist() if "covariates" in found else []
    columns += [found["time"].tolist()] if "time" in found else []
    assert list(zip(*columns, strict=True)) == list(known)  # in the order of first appearance
    assert found["count"].tolist() == [sum(row[0] for row in rows) for rows in known.values()]
    assert set(found) == {*options["roles"], "count"} | (
        {"covariates"} if options.get("covariates") else set()
    ) | ({"time"} if options.get("time") else set()) | (
        {"weight", "weight_sq", "margin", "margin_ss"} if options.get("margin")
        else {"weight", "weight_sq"} if options.get("weight") else set()
    )  # fmt: skip
    if "weight" in found:
        assert_allclose(found["weight"], [sum(row[1] for row in rows) for rows in known.values()])
        assert_allclose(found["weight_sq"], [sum(row[2] for row in rows) for rows in known.values()])
    if "margin" in found:
        means = [np.average([r[3] for r in rows], weights=[r[1] for r in rows]) for rows in known.values()]
        assert_allclose(found["margin"], means, atol=1e-12)
        within = [
            sum(r[1] * (r[3] - mean) ** 2 for r in rows) for rows, mean in zip(known.values(), means, strict=True)
        ]
        assert_allclose(found["margin_ss"], within, atol=1e-9)
    if "outcome" in found:
        assert found["outcome"].dtype == np.int8
