"""Items whose order is known, and a model that sees it more or less."""

import numpy as np
import pytest

from judge.server import Model

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("PODIUM_API_KEY", KEY)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def world():
    """`world(n, …)`: texts by label, scores by label, and the model behind the server."""

    def make(n=12, spread=2.0, seed=0, **model):
        rng = np.random.default_rng(seed)
        labels = [f"item-{k}" for k in range(n)]
        texts = {label: f"text {k} " + "long " * int(rng.integers(1, 9)) for k, label in enumerate(labels)}
        scores = dict(zip(labels, (rng.normal(size=n) * spread).tolist(), strict=True))
        return texts, scores, Model({texts[label]: scores[label] for label in labels}, seed=seed, **model)

    return make
