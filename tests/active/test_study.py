"""The paper's study: its claims hold on the small version, and the page shows the published results."""

import json

from papers import active, active_page


def test_the_claims_hold_on_the_small_study():
    results = {name: run() for name, run in active.studies(small=True).items()}
    assert all(active.claims(results).values()), active.claims(results)
    shares = {row["n"]: row for row in results["sizes_asked_for"]}
    assert 0.3 < shares[10_000]["ensemble_share"] < 0.4  # a third of all pairs at ten thousand items


def test_the_published_results_hold_and_the_page_has_their_tables():
    results = json.loads((active.OUT / "results.json").read_text())
    claims = results.pop("claims")
    assert active.claims(results) == claims
    assert all(claims.values())
    page = (active.OUT.parents[1] / "docs" / "active-theory.md").read_text()
    for table in active_page.tables(results).values():
        assert table in page
