"""Names of metrics: what each kind is, which cut-offs it takes, and which metrics fit which data."""

import pytest

from podium.errors import InputError
from podium.metrics.names import KINDS, MAX_CUT, Metric, default_metrics, parse

SHARES = ("recall", "hit", "ap", "auc", "rr")  # of labels that are relevant or not
GRADED = ("sum", "pairwise", "dcg", "ndcg")


def test_what_is_defined_for_relevant_or_not():
    assert set(KINDS) == {*SHARES, *GRADED, "prec"}
    for kind in SHARES:
        metric = Metric(kind)
        assert (metric.binary, metric.needs_binary("loss"), metric.needs_binary("gain"), metric.splits) == (True,) * 4
    for kind in GRADED:
        metric = Metric(kind)
        assert (metric.binary, metric.needs_binary("loss"), metric.needs_binary("gain"), metric.splits) == (False,) * 4
    precision = Metric("prec", 3)
    assert precision.splits
    assert precision.needs_binary("gain")
    assert not precision.needs_binary("loss")
    assert not precision.binary


@pytest.mark.parametrize("kind", KINDS)
def test_cut_offs_are_needed_taken_or_refused(kind):
    if kind in ("ap", "auc", "pairwise"):
        assert parse(kind) == Metric(kind)
        with pytest.raises(InputError, match=f"^'{kind}@2': '{kind}' looks at the whole ranking and takes no cut-off"):
            parse(f"{kind}@2")
        return
    assert parse(f"{kind}@2") == Metric(kind, 2)
    if kind in ("rr", "dcg", "ndcg"):
        assert parse(kind) == Metric(kind, None)
    else:
        with pytest.raises(InputError, match=f"^'{kind}' needs a cut-off, as in '{kind}@3'$"):
            parse(kind)


def test_cut_offs_at_their_ends():
    assert MAX_CUT == 2147483647  # what 32 bits hold
    assert parse("sum@1").p == 1
    assert parse("sum@2147483647").p == 2147483647
    for p in (0, 2147483648):
        with pytest.raises(InputError, match=f"^'sum@{p}': a cut-off is at least 1, and at most 2,147,483,647$"):
            parse(f"sum@{p}")


def test_a_metric_is_its_own_name_and_no_text_is_none():
    metric = Metric("ndcg", 3)
    assert parse(metric) is metric
    assert (str(metric), str(Metric("ap"))) == ("ndcg@3", "ap")
    for name in (3, None, ("ap",)):
        with pytest.raises(InputError, match="is no metric"):
            parse(name)


def named(metrics):
    return [str(each) for each in metrics]


@pytest.mark.parametrize("kind", ["loss", "gain"])
def test_every_metric_fits_binary_data(kind):
    assert named(default_metrics((2, 5), binary=True, kind=kind)) == [
        "sum@2", "sum@5", "prec@2", "prec@5", "recall@2", "recall@5", "hit@2", "hit@5", "ap", "auc", "rr", "pairwise",
        "dcg", "dcg@2", "dcg@5", "ndcg", "ndcg@2", "ndcg@5",
    ]  # fmt: skip


def test_grades_have_no_share_of_relevant_labels():
    graded = ["sum@4", "pairwise", "dcg", "dcg@4", "ndcg", "ndcg@4"]
    assert named(default_metrics((4,), binary=False, kind="gain")) == graded
    assert named(default_metrics((4,), binary=False, kind="loss")) == [graded[0], "prec@4", *graded[1:]]
    assert default_metrics((4,), binary=False) == default_metrics((4,), binary=False, kind="loss")
    assert named(default_metrics((), binary=True)) == ["ap", "auc", "rr", "pairwise", "dcg", "ndcg"]
