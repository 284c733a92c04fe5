"""Computes drift statistics from integer counts.

Rational results come from a single division of exact integers. Results that need a logarithm are
rounded to `DECIMALS`, because their last bits differ between C libraries.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

DECIMALS = 12


def share(part: int, whole: int) -> float | None:
    """Return `part / whole`; None if the whole is 0."""
    return part / whole if whole else None


def jaccard(common: int, size_a: int, size_b: int) -> float | None:
    """Return the Jaccard coefficient of two sets from their sizes; None if both are empty."""
    return share(common, size_a + size_b - common)


def quantile(sorted_values: Sequence[float], q: float) -> float | None:
    """Return a quantile: the smallest value v such that a fraction >= `q` of the values is <= v.

    This is the inverse of the empirical distribution function (type 1 of Hyndman & Fan 1996). The
    result is always one of the values, never interpolated; None if there are no values.

    Args:
        sorted_values: Values in ascending order.
        q: Probability of the quantile, in (0, 1].
    """
    return sorted_values[math.ceil(q * len(sorted_values)) - 1] if sorted_values else None


def quantile_from_counts(value_counts: Sequence[tuple[int, int]], q: float) -> int | None:
    """Return the quantile of values given as (value, frequency) pairs in ascending order.

    The result is None if there are no values. The quantile is defined in `quantile`.
    """
    rank = math.ceil(q * sum(often for _, often in value_counts))
    for value, often in value_counts:
        rank -= often
        if rank <= 0:
            return value
    return None


def kullback_leibler_term(count: int, total: int, mixture: float) -> float:
    """Return p log2(p / mixture) for p = count / total; 0 if the count is 0."""
    return count / total * math.log2(count / total / mixture) if count else 0.0


def jensen_shannon_terms(
    count_pairs: Iterable[tuple[int, int]], totals: tuple[int, int]
) -> list[float]:
    """Return the contribution of each item to the Jensen-Shannon divergence, in bits.

    Args:
        count_pairs: Counts of each item in the first and in the second distribution.
        totals: Sums of the counts of the two distributions; neither is 0.
    """
    terms = []
    for first, second in count_pairs:
        mixture = (first / totals[0] + second / totals[1]) / 2
        terms.append(
            (
                kullback_leibler_term(first, totals[0], mixture)
                + kullback_leibler_term(second, totals[1], mixture)
            )
            / 2
        )
    return terms


def jensen_shannon_divergence(items_by_count_pair: Mapping[tuple[int, int], int]) -> float | None:
    """Return the Jensen-Shannon divergence between two distributions of counts, in bits (Lin 1991).

    Args:
        items_by_count_pair: For each pair (count in the first distribution, count in the second),
            the number of items, such as words, that have these two counts.

    Returns:
        A number in [0, 1]; None if either distribution is empty.
    """
    totals = tuple(
        sum(pair[side] * n for pair, n in items_by_count_pair.items()) for side in (0, 1)
    )
    if not all(totals):
        return None
    keys = sorted(items_by_count_pair)
    terms = jensen_shannon_terms(keys, (totals[0], totals[1]))
    total = math.fsum(
        items_by_count_pair[key] * term for key, term in zip(keys, terms, strict=True)
    )
    return round(min(max(total, 0.0), 1.0), DECIMALS)
