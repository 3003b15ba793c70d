"""The small version of the paper study: every claim of the documentation holds on it."""

import importlib.util
from pathlib import Path

PATH = Path(__file__).parents[2] / "papers" / "active.py"


def test_the_claims_hold_on_the_small_study():
    spec = importlib.util.spec_from_file_location("papers_active", PATH)
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    results = {name: run() for name, run in study.studies(small=True).items()}
    assert all(study.claims(results).values()), study.claims(results)
    shares = {row["n"]: row for row in results["sizes_asked_for"]}
    assert 0.3 < shares[10_000]["ensemble_share"] < 0.4  # a third of all pairs at ten thousand items
