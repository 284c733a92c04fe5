"""A drift.json of three months by hand, whose numbers differ so that each can be traced."""

from typing import Any

MONTHS = ("2022-06", "2022-07", "2022-08")


def snapshot(name: str, documents: int, grades: list[int]) -> dict[str, Any]:
    """Sizes of one month."""
    return {
        "snapshot": name,
        "documents": documents,
        "tokens": documents * 100,
        "truncated": documents // 50,
        "grades": grades,
        "grade_shares": [grade / sum(grades) for grade in grades],
        "queries": {"listed": 40, "judged": 30, "listed_only": 10, "judged_only": 0},
        "judged_per_query": {"mean": 7.26, "median": 6, "max": 21},
        "relevant_per_query": {"mean": 3.14, "median": 2, "max": 9},
        "examinations": {"median": 15, "p10": 5, "p90": 131},
    }


def documents(**counts: int) -> dict[str, Any]:
    """What became of the pages of one pair of months."""
    names = ("unchanged", "updated", "added", "returned", "removed", "not_sampled", "not_shown")
    measured = {"n": 1, "p10": 0.25, "median": 0.5, "p90": 0.75, "histogram": [1, 0, 2, 0]}
    return {
        **dict.fromkeys((*names, "left_out", "removed_crawl_unknown", "moved", "loose"), 0),
        "text_changed_only": 3,
        "bands": {"cosmetic": 4, "edited": 5, "rewritten": 1},
        "shingle_jaccard": measured,
        "dice": {**measured, "p10": 0.125, "median": 0.625, "p90": 0.875},
        "length_delta": {"longer": 6, "shorter": 7, "tokens": -1234},
        "most_rewritten": [
            {
                "title": "",
                "url_key": "https://a.fr/1",
                "shingle_jaccard": 0.0625,
                "dice": 0.1875,
                "tokens_from": 1500,
                "tokens_to": 16,
            }
        ],
        "hosts": {
            "from": 12,
            "to": 14,
            "new": 3,
            "gone": 1,
            "most_changed": [
                {
                    "host": "a.fr",
                    "added": 21,
                    "removed": 22,
                    "not_kept": 23,
                    "updated": 24,
                    "unchanged": 25,
                }
            ],
        },
        **counts,
    }


def queries(kept: int, new: int, gone: int) -> dict[str, Any]:
    """What became of the queries of one pair of months."""
    risen = {"text": "bonjour", "impressions_from": 17, "impressions_to": 1700}
    return {
        "kept": kept,
        "new": new,
        "gone": gone,
        "frequency_spearman": 0.8125,
        "impressions_from": 200,
        "impressions_kept_from": 150,
        "movers": {"new": [], "gone": [], "risen": [risen], "fallen": []},
    }


def qrels(common: int, kept: int, kappa: float | None, fates: dict[str, int]) -> dict[str, Any]:
    """What became of the judgements of one pair of months."""
    return {
        "pairs_common": common,
        "kept_share": kept / common if common else None,
        "flip_rate": 0.03 if common else None,
        "kappa": kappa,
        "kappa_quadratic": 0.5,
        "transitions": [[6, 2, 0], [1, 3, 0], [0, 0, 0]],
        "by_evidence": [
            evidence(0, 1, 0),
            evidence(1, 2, 4),
            evidence(3, 6, 8),
            evidence(101, None, 16),
        ],
        "relevant_before": [
            {
                "document": name,
                "relevant": n,
                "judged_again": n - 1,
                "same_grade": n - 2,
                "not_relevant_now": n - 3,
            }
            for name, n in fates.items()
        ],
    }


def evidence(low: int, below: int | None, pairs: int) -> dict[str, Any]:
    """Stability of the pairs with so many examinations."""
    return {
        "examinations_from": low,
        "examinations_below": below,
        "pairs_common": pairs,
        "kept_share": 0.75 if pairs else None,
        "flip_rate": 0.125 if pairs else None,
    }


def words(before: str, after: str, bits: float | None, unknown: float) -> dict[str, Any]:
    """How the vocabulary changed between two months."""
    found: dict[str, Any] = {
        "from": before,
        "to": after,
        "js_bits": bits,
        "oov_share": unknown,
        "oov_share_back": 0.0625,
        "types_from": 31,
        "types_to": 32,
        "jaccard": 0.9375,
    }
    if (before, after) != (MONTHS[0], MONTHS[2]):
        rising = [
            {"word": f"mot{n}", "n_from": 40 + n, "n_to": 1040 + n} for n in range(4 if bits else 0)
        ]
        found |= {"rising": rising, "falling": rising[::-1]}
    return found


def overlap() -> dict[str, Any]:
    """Common members of all pairs of months."""
    return {
        "snapshots": [*MONTHS],
        "common": [[1000, 900, 800], [900, 1100, 850], [800, 850, 1200]],
        "jaccard": [[1.0, 0.75, 0.5], [0.75, 1.0, 0.625], [0.5, 0.625, 1.0]],
    }


def check(name: str, verdict: str, evidence_: str, sees: str, *months: str) -> dict[str, Any]:
    """Answer of one check."""
    return {
        "check": name,
        "asks": f"Is {name} so?",
        "verdict": verdict,
        "evidence": evidence_,
        "sees": sees,
        "snapshots": [*months],
        "numbers": {},
    }


def handwritten() -> dict[str, Any]:
    """Return a drift.json; every call returns a new one."""
    june, july, august = MONTHS
    members = {
        "ids": 50,
        "core": 20,
        "overlap": overlap(),
        "intersections": [
            {"snapshots": [june, july], "ids": 19},
            {"snapshots": None, "ids": 38},
        ],
    }
    return {
        "format": "longeval-drift/2",
        "parameters": {},
        "snapshots": [
            snapshot(june, 1000, [5, 3, 2]),
            snapshot(july, 1100, [50, 30, 20]),
            snapshot(august, 1200, [1, 0, 1]),
        ],
        "documents": {
            **members,
            "survival": [
                {"snapshot": june, "present": 1000, "present_share": 1.0}
                | {"uninterrupted_share": 1.0},
                {"snapshot": july, "present": 900, "present_share": 0.9}
                | {"uninterrupted_share": 0.9},
                {"snapshot": august, "present": 800, "present_share": 0.8}
                | {"uninterrupted_share": 0.7},
            ],
        },
        "queries": {
            "listed": members,
            "judged": members,
            "lengths": [{"snapshot": m, "mean_words": 2.5 + n} for n, m in enumerate(MONTHS)],
            "topics": {
                "snapshots": [*MONTHS],
                "js_bits": [0.01, 0.02],
                "js_bits_impressions": [0.3, 0.2],
                "mix": [
                    {"topic": "pain", "queries": [3, 4, 5], "impressions": [10, 60, 60]},
                    {"topic": "eau", "queries": [6, 7, 8], "impressions": [30, 40, 50]},
                ],
            },
        },
        "vocabulary": {
            "all": [
                words(june, july, 0.0125, 0.0),
                words(june, august, 0.5, 0.25),
                words(july, august, 0.025, 0.0031),
            ],
            "core": [
                words(june, july, None, 0.0),
                words(june, august, None, 0.0),
                words(july, august, None, 0.0),
            ],
        },
        "pairs": [
            {
                "from": june,
                "to": july,
                "documents": documents(
                    unchanged=60,
                    updated=20,
                    added=8,
                    returned=2,
                    removed=15,
                    not_shown=4,
                    left_out=1,
                ),
                "queries": queries(30, 1, 10),
                "qrels": qrels(50, 40, 0.555, {"removed": 6, "not_shown": 3, "updated": 5}),
            },
            {
                "from": july,
                "to": august,
                "documents": documents(unchanged=95, updated=5, removed=3, not_sampled=1, moved=9),
                "queries": queries(10, 7, 10),
                "qrels": qrels(20, 15, None, {"unchanged": 90, "removed": 10}),
            },
        ],
        "judgements": [],
        "checks": [
            check("one", "construction", "a threshold moved", "", june, july),
            check("two", "clear", "nothing moved", "a move of 5", june, july),
            check("three", "cannot tell", "too few", "", july),
            check("three", "cannot tell", "too few", "more would show", july, august),
        ],
        "clicks": [
            {
                "snapshot": june,
                "model": "sdbn",
                "held_out": 4600,
                "sampled": 18000,
                "log_likelihood": -2.5,
                "perplexity": 1.25,
                "baseline_log_likelihood": -3.5,
                "baseline_perplexity": 1.5,
                "ranks": [
                    {"rank": 1, "impressions": 4600, "observed": 0.5, "predicted": 0.25},
                    {"rank": 2, "impressions": 4100, "observed": 0.125, "predicted": 0.1},
                ],
            }
        ],
    }
