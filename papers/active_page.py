"""The tables of docs/active-theory.md, made from the results of papers/active.py."""

from __future__ import annotations


def tables(results: dict[str, list]) -> dict[str, str]:
    """The tables of docs/active-theory.md, by study, as Markdown."""
    return {
        "sizes_asked_for": _table(
            "n | improvement step runs | ensemble, share of all pairs | ERM sample | VC bound for a place | "
            "`standard`, at most",
            (
                f"{row['n']:,} | {'yes' if row['improvement_on'] else 'no'} | "
                f"{_percent(row['ensemble_share']) if row['improvement_on'] else '–'} | {_percent(row['erm_share'])} | "
                f"{_percent(row['vc_share_for_one_place'])} | {_percent(row['ours_share'])}"
                for row in results["sizes_asked_for"][:4]
            ),
        ),
        "bound": _table(
            "n | Flips | Constants | Pairs asked | Cost ÷ best, mean | worst | within 2.0",
            (
                f"{row['n']:,} | {100 * row['flips']:g} % | {row['constants']} | {_percent(row['share_asked'])} | "
                f"{row['ratio']:.2f} | {row['worst']:.2f} | {row['within']} of {row['runs']}"
                for row in results["bound"]
            ),
        ),
        "svm3": _table(
            "Radius c | " + " | ".join(f"M = {count:,}" for count in _samples(results)),
            (
                f"{radius:g} | "
                + " | ".join(_percent(r["worst_relative_gap"]) for r in results["svm3"] if r["radius"] == radius)
                for radius in sorted({row["radius"] for row in results["svm3"]})
            ),
        ),
        "solver": _table(
            "Features d | Radius c | Ours above the least | Gap it proves | Points tried | 400 subgradient steps above",
            (
                f"{row['dimension']} | {row['radius']:g} | {100 * row['above']:.4f} % | {100 * row['gap']:.4f} % | "
                f"{row['points']:.0f} | {100 * max(row['subgradient_above'], 0.0):.2g} %"
                for row in results["solver"]
            ),
        ),
        "learners": _table(
            "Order | Learner | Constants | Questions an item | Cost ÷ hidden order's | with every answer | "
            "Tau on new items | with every answer",
            (
                f"{row['truth']} | {row['learner']} | {row['constants']} | {row['questions']:.1f} | "
                f"{row['ratio']:.2f} | {row['ratio_all']:.2f} | {row['new']:.2f} | {row['new_all']:.2f}"
                for row in results["learners"]
            ),
        ),
        "decomposition": _decomposition_table(results["decomposition"]),
    }


def _samples(results):
    return sorted({row["sampled"] for row in results["svm3"]})


def _decomposition_table(rows):
    """Ours (blocks to 16, 1.5 ε²) beside the printed size and threshold."""
    lines = []
    for row in (each for each in rows if (each["small"], each["threshold"]) == (16, 1.5)):
        same = [each for each in rows if all(each[key] == row[key] for key in ("n", "model", "level"))]
        printed = next(each for each in same if each["small"] < 16 and each["threshold"] == 1.0)
        cells = [f"{row['n']:,}", f"{row['model']} {row['level']:g}"]
        for each in (row, printed):
            cells += [f"{each['questions']:.1f}", *(_percent(each[key]) for key in ("chaos_holds", "optimality_holds"))]
        lines.append(" | ".join(cells))
    head = (
        "n | Noise | Blocks to 16, 1.5 ε²: more questions an item | (2.2) holds | (2.3) holds | As printed: questions"
    )
    return _table(head + " | (2.2) holds | (2.3) holds", lines)


def _table(head, lines):
    columns = head.count(" | ") + 1
    return "\n".join([f"| {head} |", "|" + "---|" * columns, *(f"| {line} |" for line in lines)])


def _percent(share):
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"
