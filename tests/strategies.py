"""Generators of inputs for Hypothesis."""

from hypothesis import strategies as st


@st.composite
def votes(draw, most_items=6, most_votes=25, outcomes=(1.0, 0.0, 0.5), weighted=True):
    """(n, rows): rows are (left, right, outcome, weight); every item index is below n."""
    n = draw(st.integers(2, most_items))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda ij: ij[0] != ij[1])
    weight = st.sampled_from([1.0, 1.0, 2.0, 0.5]) if weighted else st.just(1.0)
    row = st.tuples(pair, st.sampled_from(outcomes), weight).map(lambda r: (*r[0], r[1], r[2]))
    return n, draw(st.lists(row, min_size=1, max_size=most_votes))


lists_of_pairs = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")).filter(lambda ab: ab[0] != ab[1]),
    min_size=1,
    max_size=30,
)
