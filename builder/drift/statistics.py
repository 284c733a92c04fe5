"""The formulas of change, on counts: integers in, one division (or one logarithm) at the end.

Everything here is pure and exact where numbers are rational. What needs a logarithm or a root is
rounded to `DECIMALS`, because the last bits of those differ between C libraries.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

DECIMALS = 12


def share(part: int, whole: int) -> float | None:
    """Part / whole; None where there is nothing to divide by."""
    return part / whole if whole else None


def jaccard(common: int, size_a: int, size_b: int) -> float | None:
    """|A and B| / |A or B| from the sizes of the sets; None where both are empty."""
    return share(common, size_a + size_b - common)


def quantile(sorted_values: Sequence[float], q: float) -> float | None:
    """The least value that at least a share `q` of the values do not exceed; None if empty.

    The inverse of the empirical distribution function (type 1 of Hyndman & Fan 1996): always one
    of the values, never a mean of two.

    Args:
        ordered: Values in ascending order.
        q: In (0, 1].
    """
    return sorted_values[math.ceil(q * len(sorted_values)) - 1] if sorted_values else None


def counted_quantile(value_counts: Sequence[tuple[int, int]], q: float) -> int | None:
    """`quantile` of values given as (value, how often), in ascending order of value."""
    rank = math.ceil(q * sum(often for _, often in value_counts))
    for value, often in value_counts:
        rank -= often
        if rank <= 0:
            return value
    return None


def divergence_term(count: int, total: int, mixture: float) -> float:
    """P log2(p / m) with p = count / total; 0 for a count of 0."""
    return count / total * math.log2(count / total / mixture) if count else 0.0


def jensen_shannon_terms(pairs: Iterable[tuple[int, int]], totals: tuple[int, int]) -> list[float]:
    """What each type adds to the Jensen-Shannon divergence, in bits.

    Args:
        pairs: Counts of a type in both texts.
        totals: Tokens of both texts, not 0.
    """
    terms = []
    for first, second in pairs:
        mixture = (first / totals[0] + second / totals[1]) / 2
        terms.append(
            (
                divergence_term(first, totals[0], mixture)
                + divergence_term(second, totals[1], mixture)
            )
            / 2
        )
    return terms


def jensen_shannon(type_counts: Mapping[tuple[int, int], int]) -> float | None:
    """Jensen-Shannon divergence of two distributions of counts, base 2, in bits (Lin 1991).

    Args:
        classes: How many types have these counts in both texts.

    Returns:
        A number in [0, 1]; None where one text is empty.
    """
    totals = tuple(sum(pair[side] * n for pair, n in type_counts.items()) for side in (0, 1))
    if not all(totals):
        return None
    keys = sorted(type_counts)
    terms = jensen_shannon_terms(keys, (totals[0], totals[1]))
    total = math.fsum(type_counts[key] * term for key, term in zip(keys, terms, strict=True))
    return round(min(max(total, 0.0), 1.0), DECIMALS)
