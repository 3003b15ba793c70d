"""What every ranker must do: laws that hold whatever the model, and the contract of `podium.pairwise.base`.

A ranker joins by a row in `RANKERS`: how to make one, and what it is exempt from. Those of other packages, found by
their entry points, join as they are. Rankers that use the order of votes are exempt from laws about the order of rows.
"""

import inspect
import pickle
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn.exceptions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

from podium.data.comparisons import Comparisons
from podium.errors import InputError, NotFittedError, PodiumError
from podium.evaluate.differences import read_settings, settings_of
from podium.pairwise import METHODS, ranker
from podium.pairwise.base import Uses
from podium.pairwise.online import OnlineRABF
from podium.pairwise.plackett_luce import PlackettLuce

from helpers import simulate, thin_data


@dataclass(frozen=True)
class Case:
    """A ranker: how to make one, and one whose penalties or steps are right for votes of weight `unit` each.

    Counting rankers and those without a penalty take no notice of the unit of weights. A penalty, a prior or a step
    stands beside the votes, so weights in another unit mean the same only if these are in that unit too.
    """

    make: Any  # (unit=1) -> ranker
    tolerance: float = 1e-5
    turned_on: Any = field(default_factory=dict)  # what `uses` names -> options with which the ranker looks at it
    needs: Any = ("sides",)  # of these, those that votes must have once they are turned on

    @property
    def sequential(self):
        return self.make().uses.order


class Judged(ranker("crowd")):
    """A ranker that needs judges, with judges made up from the labels: the same whatever the order of votes."""

    def fit(self, c):
        if not isinstance(c, Comparisons) or c.judge is not None:
            return super().fit(c)
        last = np.array([int(str(item)[-1]) for item in c.items])
        judge = ((last[c.left] + last[c.right]) % 3).astype(np.int32)
        return super().fit(replace(c, judge=judge, judges=("ann", "bob", "eve")))


class Timed(ranker("dynamic")):
    """A ranker that needs times, with times made up from the labels: the same whatever the order of votes."""

    def fit(self, c, features=None, *, id=None):
        if not isinstance(c, Comparisons) or c.time is not None:
            return super().fit(c, features, id=id)
        last = np.array([int(str(item)[-1]) for item in c.items])
        timed = replace(c, time=((last[c.left] + last[c.right]) % 3).astype(float))
        return super().fit(timed, features, id=id)


def of(method, **options):
    return lambda unit=1.0: ranker(method)(**options)


RANKERS: dict[str, Case] = {
    "bradley-terry": Case(
        lambda unit=1.0: ranker("bradley-terry")(l2=1e-3 * unit),
        turned_on={"sides": {"side_effect": True}, "ties": {"ties": "davidson"}, "time": {"half_life": 5.0}},
        needs=("sides", "time"),
    ),
    "borda": Case(of("borda")),
    "copeland": Case(of("copeland")),
    "crowd": Case(
        lambda unit=1.0: Judged(l2=1e-2 * unit, tol=1e-7),
        tolerance=1e-4,
        turned_on={"judges": {"reliability_sd": 1.0}, "sides": {"side_effect": True}},
    ),
    "dynamic": Case(
        lambda unit=1.0: Timed(sd=2.0 / unit**0.5, drift=0.5 / unit**0.5, tol=1e-8),
        turned_on={"sides": {"side_effect": True}, "ties": {"ties": "davidson"}},
    ),
    "elo": Case(
        lambda unit=1.0: ranker("elo")(k=16.0 / unit),
        turned_on={"sides": {"side_advantage": 80.0}, "margins": {"margins": True}},
        needs=("sides", "margins"),
    ),
    "least-squares": Case(of("least-squares")),
    "rank-centrality": Case(of("rank-centrality", prior=0.0)),
    "online-rabf": Case(
        lambda unit=1.0: ranker("online-rabf")(step=0.5 / unit, residual_penalty=1e-4 * unit),
        turned_on={"margins": {"loss": "squared"}},
    ),
    "plackett-luce": Case(
        lambda unit=1.0: ranker("plackett-luce")(l2=1e-3 * unit), turned_on={"ties": {"ties": "davidson"}}
    ),
    "rabf": Case(
        lambda unit=1.0: ranker("rabf")(residual_penalty=0.1 * unit),
        turned_on={"margins": {"loss": "squared"}, "sides": {"side_effect": True}, "ties": {"ties": "davidson"}},
    ),
    "win-rate": Case(of("win-rate")),
}
RANKERS |= {method: Case(of(method)) for method in METHODS if method not in RANKERS}


def data(seed=0, n=7, m=400, ties=True, **more):
    rng = np.random.default_rng(seed)
    winner, loser, _ = simulate(n, m, rng)
    labels = [f"item {k}" for k in range(n)]
    tie = rng.random(m) < 0.1 if ties else None
    return Comparisons.from_arrays(winner, loser, tie=tie, items=labels, **more)


def rebuilt(c, left=None, right=None, rows=slice(None), items=None, **more):
    """The same votes with something changed."""
    left, right = c.left if left is None else left, c.right if right is None else right
    items = c.items if items is None else items
    return Comparisons.from_arrays(left[rows], right[rows], tie=c.outcome[rows] == 0, items=items, **more)


def on_sides(c, turned):
    """The same votes as left, right and outcome, the winner on the right where `turned`."""
    left, right = np.where(turned, c.right, c.left), np.where(turned, c.left, c.right)
    outcome = np.where(turned, -c.outcome, c.outcome).astype(np.int8)
    return replace(c, left=left, right=right, outcome=outcome, sided=True)


@st.composite
def with_twins(draw):
    """Votes in which `item 0` and `item 10`, and so on, did the same: whatever one did the other did too, and between
    the two all is even. Both labels end alike, so that they also have the same (made-up) judges."""
    n = draw(st.integers(2, 6))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda ij: ij[0] != ij[1])
    weight = st.sampled_from([1.0, 1.0, 0.1, 0.2, 0.3, 7.0])
    rows = draw(st.lists(st.tuples(pair, st.booleans(), weight), min_size=n, max_size=40))
    rows += [((k, k + 1), False, 1.0) for k in range(n - 1)] + [((k + 1, k), False, 1.0) for k in range(n - 1)]
    even = draw(st.sampled_from([0.0, 0.3, 2.0]))
    votes = [(i + a * n, j + b * n, tie, w) for (i, j), tie, w in rows for a in (0, 1) for b in (0, 1)]
    votes += [(k + a * n, k + (1 - a) * n, False, even) for k in range(n) for a in (0, 1) if even]
    left, right, tie, heavy = (np.array(column) for column in zip(*draw(st.permutations(votes)), strict=True))
    labels = [f"item {k}" for k in range(n)] + [f"item 1{k}" for k in range(n)]
    return Comparisons.from_arrays(left, right, tie=tie, weight=heavy, items=labels)


def scores(make, comparisons):
    with thin_data():
        ranking = make().fit(comparisons).ranking_
    return dict(zip(ranking.items, ranking.scores, strict=True))


def assert_same(a, b, tolerance):
    assert a.keys() == b.keys()
    assert_allclose([a[key] for key in a], [b[key] for key in a], atol=tolerance, rtol=tolerance)


def assert_same_answers(case, one, other):
    """All that is learned from one set of votes is learned from the other: scores, intervals, record and the rest."""
    with thin_data():
        models = [case.make().fit(c) for c in (one, other)]
    rankings = [model.ranking_ for model in models]
    frames = [ranking.to_frame().sort("item") for ranking in rankings]
    for name in frames[0].columns[1:]:
        assert_allclose(*(frame[name].to_numpy() for frame in frames), rtol=case.tolerance, atol=case.tolerance)
    numbers = [
        {name: value for name, value in vars(model).items() if name.endswith("_") and isinstance(value, float)}
        for model in models
    ]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-6)


class RankerSuite:
    """Collected by tests/pairwise/test_suite.py."""

    @pytest.fixture(params=list(RANKERS), ids=list(RANKERS))
    def case(self, request):
        return RANKERS[request.param]

    def test_where_every_vote_is_a_tie_ties_are_no_outcome_to_model(self, case):
        """The chance of a tie has no finite strength then; counted as half a win for both, all items are equal."""
        names = [f"item {k}" for k in range(3)]
        alike = Comparisons.from_arrays([0, 1, 2, 0], [1, 2, 0, 1], tie=[True] * 4, items=names)
        assert np.ptp(case.make().fit(alike).ranking_.scores) < 1e-6 or case.sequential
        if options := case.turned_on.get("ties"):
            with pytest.raises(InputError, match="tie"):
                case.make().set_params(**options).fit(alike)

    def test_relabelling_moves_nothing(self, case):
        c = data()
        renamed = scores(case.make, rebuilt(c, items=[f"new {item}" for item in c.items]))
        assert_same(
            scores(case.make, c), {key.removeprefix("new "): value for key, value in renamed.items()}, case.tolerance
        )

    def test_renumbering_the_items_moves_nothing(self, case):
        c = data()
        turn = np.random.default_rng(1).permutation(len(c.items))
        place = np.argsort(turn)
        turned = rebuilt(c, place[c.left], place[c.right], items=[c.items[k] for k in turn])
        assert_same(scores(case.make, c), scores(case.make, turned), case.tolerance)

    def test_the_order_of_rows_is_nothing(self, case):
        if case.sequential:
            pytest.skip("reads votes in order")
        c = data()
        shuffled = rebuilt(c, rows=np.random.default_rng(2).permutation(len(c.left)))
        assert_same(scores(case.make, c), scores(case.make, shuffled), case.tolerance)

    @pytest.mark.parametrize("m", [40, 400])
    def test_winner_and_loser_or_left_and_right_say_the_same(self, case, m):
        c = data(m=m)
        turned = np.random.default_rng(5).random(m) < 0.5
        assert_same_answers(case, c, on_sides(c, turned))
        assert_same_answers(case, on_sides(c, turned), on_sides(c, ~turned))

    def test_the_order_of_rows_with_sides_is_nothing(self, case):
        if case.sequential:
            pytest.skip("reads votes in order")
        c = on_sides(data(m=40), np.arange(40) % 2 == 0)
        assert_same_answers(case, c, c.take(np.random.default_rng(2).permutation(40)))

    @pytest.mark.parametrize("sided", [False, True])
    def test_a_vote_of_weight_five_is_one_of_two_and_one_of_three(self, case, sided):
        if case.sequential:
            pytest.skip("one step of weight five is not a step of two and a step of three")
        c = on_sides(data(), np.arange(400) % 2 == 0) if sided else data()
        whole, two, three = (replace(c, weight=np.full(400, weight)) for weight in (5.0, 2.0, 3.0))
        assert_same(scores(case.make, two + three), scores(case.make, whole), case.tolerance)

    def test_five_equal_votes_may_be_counted_in_one_row_or_two(self, case):
        if case.sequential:
            pytest.skip("counted votes have no order, and are refused")
        c = on_sides(data(), np.arange(400) % 2 == 0)
        five, two, three = (replace(c, count=np.full(400, count)) for count in (5, 2, 3))
        assert_same_answers(case, five, two + three)
        assert_same_answers(case, five, c + c + c + c + c)

    @pytest.mark.parametrize("unit", [1e-3, 0.5, 40.0])
    def test_the_unit_of_weights_is_nothing_to_those_in_the_same_unit(self, case, unit):
        c = data()
        heavy = replace(c, weight=np.full(400, unit))
        assert_same(scores(case.make, c), scores(lambda: case.make(unit), heavy), case.tolerance)

    def test_adding_data_sets_is_one_data_set(self, case):
        whole = data()
        first, rest = rebuilt(whole, rows=slice(None, 130)), rebuilt(whole, rows=slice(130, None))
        assert_same(scores(case.make, whole), scores(case.make, first + rest), case.tolerance)

    def test_swapping_winners_and_losers_turns_the_order_around(self, case):
        c = data(m=4000)
        forth, back = scores(case.make, c), scores(case.make, rebuilt(c, c.right, c.left))
        assert max(forth, key=forth.get) == min(back, key=back.get)

    def test_who_beats_everyone_leads_and_the_data_stay_untouched(self, case):
        c = data(m=2000)
        lost = c.right == 3
        c = rebuilt(c, np.where(lost, 3, c.left), np.where(lost, c.left, c.right))
        before = c.left.copy(), c.right.copy()
        found = scores(case.make, c)
        assert max(found, key=found.get) == c.items[3]
        assert (c.left == before[0]).all()
        assert (c.right == before[1]).all()

    @pytest.mark.parametrize(
        "votes",
        [
            pl.DataFrame({"winner": ["a"], "loser": ["b"]}),
            [("a", "b")],
            {"winner": ["a"], "loser": ["b"]},
            np.zeros((2, 2)),
            "votes.csv",
            None,
            Comparisons,
        ],
        ids=lambda votes: type(votes).__name__,
    )
    def test_what_are_no_comparisons_is_refused_with_the_way_to_make_them(self, case, votes):
        made = "Rankings" if isinstance(case.make(), PlackettLuce) else "Comparisons"
        with pytest.raises(InputError, match=rf"not {type(votes).__name__}; make them by {made}\.from_"):
            case.make().fit(votes)

    def test_items_with_mirrored_votes_share_score_and_rank(self, case):
        if case.sequential:
            pytest.skip("reads votes in order")

        @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(with_twins())
        def holds(c):
            with thin_data():
                ranking = case.make().fit(c).ranking_
            half = len(c.items) // 2
            frame = ranking.to_frame(level=None)
            rank = dict(zip(frame["item"].to_list(), frame["rank"].to_list(), strict=True))
            for one, other in zip(c.items[:half], c.items[half:], strict=True):
                assert ranking.score(one) == ranking.score(other)
                assert rank[one] == rank[other]

        holds()

    def test_the_table_has_a_row_an_item_best_first(self, case):
        with thin_data():
            ranking = case.make().fit(data()).ranking_
        frame = ranking.to_frame()
        assert frame["item"].to_list() == list(ranking.order)
        assert frame["rank"].to_list() == sorted(frame["rank"].to_list())
        assert (np.diff(frame["score"].to_numpy()) <= 0).all()

    def test_the_table_counts_wins_losses_and_ties_as_a_plain_loop_does(self, case):
        c = data()
        with thin_data():
            frame = case.make().fit(c).ranking_.to_frame()
        if isinstance(case.make(), OnlineRABF):  # votes may come one by one, and none is kept
            assert frame["wins"].is_null().all()
            return
        counts = {item: [0, 0, 0] for item in c.items}
        for left, right, outcome in zip(c.left.tolist(), c.right.tolist(), c.outcome.tolist(), strict=True):
            for item, y in ((c.items[left], outcome), (c.items[right], -outcome)):
                counts[item][{1: 0, -1: 1, 0: 2}[y]] += 1
        for item, *found in frame.select("item", "wins", "losses", "ties").rows():
            assert found == pytest.approx(counts[item])

    # ---- the contract ---------------------------------------------------------------------------------------

    def test_parameters_are_those_of_the_signature_and_survive_clone_repr_and_set_params(self, case):
        model = case.make(3.0)
        params = model.get_params()
        assert list(params) == list(inspect.signature(type(model)).parameters)
        with thin_data():
            fitted = clone(model).fit(data())
        read = eval(repr(model), {type(model).__name__: type(model)})
        for other in (clone(fitted), type(model)().set_params(**params), read):
            assert type(other) is type(model)
            assert other.get_params() == params
            assert not other.__sklearn_is_fitted__()
        assert repr(type(model)()) == f"{type(model).__name__}()"
        with pytest.raises(InputError, match="has no parameter 'depth'; it takes"):
            model.set_params(depth=3)

    @pytest.mark.parametrize(
        "ask",
        [
            lambda model: model.ranking_,
            lambda model: model.predict_proba(data()),
            lambda model: model.score(data()),
            lambda model: model.log_likelihood_,
            lambda model: model.settings_,
            lambda model: model.feature_names_,
            lambda model: model.covariate_names_,
            lambda model: model.n_iter_,
        ],
        ids=range(8),
    )
    def test_asked_too_early_a_ranker_says_what_to_call(self, case, ask):
        message = r"is not fitted yet; call fit\(comparisons\)"
        with pytest.raises(sklearn.exceptions.NotFittedError, match=message) as caught:
            ask(case.make())
        assert isinstance(caught.value, PodiumError)
        assert isinstance(caught.value, NotFittedError)
        assert not hasattr(case.make(), "ranking_")

    def test_what_a_ranker_never_has_is_a_plain_attribute_error(self, case):
        with thin_data():
            model = case.make().fit(data())
        for name in ("wisdom", "wisdom_"):
            with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
                getattr(model, name)

    def test_chances_add_up_and_turn_around_with_the_sides(self, case):
        c = data()
        with thin_data():
            model = case.make().fit(c)
        chances = model.predict_proba(c)
        assert chances.shape == (len(c.left), 3)
        assert ((chances >= 0) & (chances <= 1)).all()
        assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
        turned = replace(c, left=c.right, right=c.left, outcome=-c.outcome)
        assert_allclose(model.predict_proba(turned), chances[:, ::-1], rtol=1e-12)
        assert (chances[:, 1] == 0).all()  # as made here, none models ties

    def test_the_better_score_has_the_better_chance_and_the_unknown_stand_in_the_middle(self, case):
        with thin_data():
            model = case.make().fit(data())
        ranking = model.ranking_
        best, worst = ranking.order[0], ranking.order[-1]
        asked = [(best, worst), (worst, best), ("new", "newer"), (best, "new"), ("new", worst), ("newer", worst)]
        win = model.predict_proba(Comparisons.from_pairs(asked))[:, 0]
        assert win[0] > win[3] > 0.5 > win[1]
        assert win[2] == 0.5
        assert 0.5 < win[4] == win[5] < win[0]

    def test_score_and_log_likelihood_are_those_of_a_plain_loop(self, case):
        weight = np.random.default_rng(3).choice([0.5, 1.0, 2.0], 400)
        c = replace(data(), weight=weight)
        with thin_data():
            model = case.make().fit(c)
        total = sum(
            w * (np.log(win) if y > 0 else 0.5 * np.log(win) + 0.5 * np.log(loss))
            for (win, _, loss), y, w in zip(model.predict_proba(c), c.outcome, weight, strict=True)
        )
        assert model.score(c) == pytest.approx(total / weight.sum(), rel=1e-9)
        if type(model) not in (Judged, Timed):  # whose votes are not those that were given
            assert model.log_likelihood_ == pytest.approx(total, rel=1e-9)
        assert model.score(c) > np.log(0.5)

    def test_a_stored_ranker_gives_the_same_chances_and_holds_no_votes(self, case):
        c = data()
        with thin_data():
            model = case.make().fit(c)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.predict_proba(c), model.predict_proba(c))
        assert again.log_likelihood_ == model.log_likelihood_
        assert not any(isinstance(value, Comparisons) for value in vars(again).values())

    def test_fitted_again_it_forgets_the_votes_before(self, case):
        one, other = data(seed=1), data(seed=2)
        with thin_data():
            model, fresh = case.make().fit(one), case.make().fit(other)
            _ = model.log_likelihood_, model.predict_proba(one)
            model.fit(other)
        assert_array_equal(model.predict_proba(other), fresh.predict_proba(other))
        assert model.log_likelihood_ == fresh.log_likelihood_

    def test_settings_name_the_method_and_its_parameters(self, case):
        with thin_data():
            model = case.make().fit(data())
        settings = model.settings_
        assert read_settings(settings_of(model))["method"] in (*METHODS, "Judged", "Timed")
        params = {name: value for name, value in model.get_params().items() if name not in ("max_iter", "tol")}
        assert settings.items() >= {name: value for name, value in params.items() if value is not None}.items()
        assert not {"max_iter", "tol"} & settings.keys()

    def test_what_it_does_not_use_changes_nothing(self, case):
        plain = data(ties=False)
        for name, c in beside(plain).items():
            if not getattr(case.make().uses, name):
                with thin_data():
                    one, other = case.make().fit(plain), case.make().fit(c)
                assert_allclose(one.predict_proba(plain), other.predict_proba(plain), atol=case.tolerance)

    def test_what_it_uses_makes_a_difference(self, case):
        model = case.make()
        assert isinstance(model.uses, Uses)
        plain = data(ties=False)
        for name, c in beside(plain).items():
            if getattr(model.uses, name):
                options = case.turned_on.get(name, {})
                with thin_data():  # without sides, their effect cannot be asked for
                    one = case.make().fit(c) if name in case.needs else case.make().set_params(**options).fit(plain)
                    other = case.make().set_params(**options).fit(c)
                assert np.abs(one.predict_proba(c) - other.predict_proba(c)).max() > 1e-3, name

    def test_ties_have_a_chance_with_those_that_model_them(self, case):
        model = case.make()
        with thin_data():
            model.set_params(**case.turned_on.get("ties", {})).fit(data())
        assert (model.predict_proba(data())[:, 1] > 0).all() == model.uses.ties
        assert (model.tie_strength_ is not None) == model.uses.ties

    def test_features_are_taken_by_those_that_use_them(self, case):
        takes = "features" in inspect.signature(type(case.make()).fit).parameters
        assert takes == case.make().uses.features

    def test_votes_can_be_dealt_by_scikit_learn(self, case):
        c, deal = data(), KFold(4, shuffle=True, random_state=0)
        with thin_data():
            found = cross_val_score(case.make(), c, cv=deal)
            by_hand = [case.make().fit(c[train]).score(c[test]) for train, test in deal.split(np.arange(len(c)))]
        assert_allclose(found, by_hand, rtol=1e-12)


def beside(c):
    """The same votes with one more thing known of each."""
    rng = np.random.default_rng(9)
    m = len(c.left)
    outcome = np.ones(m, dtype=np.int8)
    turned = rng.random(m) < 0.2  # most winners stood on the left
    return {
        "judges": replace(c, judge=rng.integers(0, 3, m).astype(np.int32), judges=("ann", "bob", "eve")),
        "covariates": replace(c, covariates=rng.normal(0.5, 1.0, (m, 1)), covariate_names=("length",)),
        "margins": replace(c, margin=3.0 * rng.exponential(size=m)),
        "time": replace(c, time=rng.permutation(m) / 10.0),
        "sides": on_sides(replace(c, outcome=outcome), turned),
    }


OPTIONS = [
    (method, name, "float" in str(parameter.annotation) or "int" in str(parameter.annotation))
    for method in METHODS
    for name, parameter in inspect.signature(ranker(method)).parameters.items()
    if parameter.annotation not in ("bool", bool) and name != "anchor"
]
SIGNED = ("initial", "side_advantage")  # numbers below 0 mean something, too


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -1, 0, 2.5, "much", None, [1.0], 10**400], ids=lambda v: repr(v)[:9]
)
@pytest.mark.parametrize(("method", "name", "numeric"), OPTIONS, ids=lambda part: str(part))
def test_an_option_is_refused_by_name_or_meant(method, name, numeric, value):
    """Scores that are numbers where the value has a meaning, else our own error that names the option and the value."""
    c = data(m=40, judge=["ann", "bob"] * 20, time=range(40))
    model = ranker(method)(**{name: value})
    if value is None and model._parameters()[name] is None:
        pytest.skip("None is what it is by default")
    number = numeric and isinstance(value, int | float) and abs(value) < 1e300 and (value >= 0 or name in SIGNED)
    if number and not (name == "max_iter" and value != 1):
        try:
            with thin_data():
                assert np.isfinite(model.fit(c).ranking_.scores).all()
            return
        except InputError as problem:
            refused = str(problem)
    else:
        with pytest.raises(InputError) as caught:
            model.fit(c)
        refused = str(caught.value)
    assert name in refused
    assert repr(value)[:20] in refused


def test_every_method_is_in_the_suite():
    assert set(METHODS) <= set(RANKERS)
