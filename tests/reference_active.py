"""Slow twins of the order tools and of the paper's definitions, written for reading."""

from itertools import permutations

import numpy as np


def cost_of(wins, order):
    """Weight of votes against `order`: equation (2.1)."""
    return sum(wins[v, u] for i, u in enumerate(order) for v in order[i + 1 :])


def least_cost(wins):
    """The cheapest order by trying all."""
    return min(cost_of(wins, order) for order in permutations(range(len(wins))))


def moved(order, item, place):
    """`order` with `item` taken out and put back at `place` (definition 3.2)."""
    rest = [u for u in order if u != item]
    return [*rest[:place], item, *rest[place:]]


def cross_block_hinge(scores, block):
    """Sum over all pairs in different blocks, and its gradient, by listing them."""
    value, slope = 0.0, np.zeros(len(scores))
    for u in range(len(scores)):
        for v in range(len(scores)):
            if block[u] < block[v] and 1 - scores[u] + scores[v] > 0:
                value += 1 - scores[u] + scores[v]
                slope[u] -= 1
                slope[v] += 1
    return value, slope


def random_tournament(n, flip, rng):
    """Items in order 0 … n-1, each pair turned round with chance `flip`; entry [u, v] is 1 for u before v."""
    wins = np.triu(np.ones((n, n)), 1)
    turned = np.triu(rng.random((n, n)) < flip, 1)
    wins[turned] = 0.0
    return wins + np.tril(1.0 - wins.T, -1)


def posterior_of(
    item, partners, answers, position, spread, floor, scale, blur, temper, grid, far=np.inf, far_floor=None
):
    """Posterior mean and spread of one item's place over a grid, by the formula of `podium.active.posterior`.

    Beyond `far` places from the partner, mistakes have the chance far_floor.
    """
    near_floor = floor
    logs = []
    for t in grid:
        total = 0.0
        for j, answer in zip(partners, answers, strict=True):
            width = np.hypot(scale, blur * spread[j])
            z = np.clip((position[j] - t) / width, -12, 12)
            floor = far_floor if abs(position[j] - t) > far and answer != 0.5 else near_floor
            first = floor + (1 - 2 * floor) / (1 + np.exp(-z))
            last = floor + (1 - 2 * floor) / (1 + np.exp(z))
            total += answer * np.log(first) + (1 - answer) * np.log(last)
        logs.append(temper * total)
    widths = (np.append(grid[1:], grid[-1]) - np.append(grid[0], grid[:-1])) / 2
    mass = np.exp(np.array(logs) - max(logs)) * widths
    mass /= mass.sum()
    mean = float(mass @ grid)
    return mean, float(np.sqrt(mass @ (grid - mean) ** 2))
