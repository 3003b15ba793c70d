"""OR-tools' CP-SAT on the linear-ordering programme: one Boolean a pair, no directed triangle."""

from __future__ import annotations

from itertools import combinations


def rank(wins, seconds=20.0):
    """Returns the cost of the best order found and the proved bound; one thread."""
    from ortools.sat.python import cp_model

    n = len(wins)
    model = cp_model.CpModel()
    before = {(u, v): model.new_bool_var("") for u, v in combinations(range(n), 2)}
    for u, v, w in combinations(range(n), 3):
        around = before[u, v] + before[v, w] - before[u, w]
        model.add(around >= 0)
        model.add(around <= 1)
    model.minimize(sum(int(wins[v, u]) * x + int(wins[u, v]) * (1 - x) for (u, v), x in before.items()))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    solver.solve(model)
    return solver.objective_value, solver.best_objective_bound
