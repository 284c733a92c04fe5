"""Checks that impressions and clicks were recorded by the same rules.

The behavior of users changes, but some patterns remain: some impressions have no click, some have
several, and users do not avoid the first rank. If the table `click_diagnostics` of only one
snapshot shows these patterns, the logs were exported differently. Imported releases have no such
table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from builder.drift.checks.outcome import (
    SIGNIFICANCE,
    Check,
    Outcome,
    cannot_tell,
    format_share,
)
from builder.statistics.significance import fisher_exact_p_value

MIN_IMPRESSIONS, MIN_CLICKED = 200, 100
"""Minimum number of impressions of a snapshot, and of those with a click."""

MAX_ABSENT, MIN_PRESENT = 0.002, 0.1
"""Maximum share of impressions of an absent pattern, and minimum share of a present one."""

MIN_FULL = 0.5
"""Minimum share of result lists that reach the last rank if lists were cut there."""

HALF = 0.5
"""Ratio of mean lengths of result lists up to which results were left out."""

MAX_AVOIDED = 0.5
"""Maximum click rate of a first rank that counts as avoided, relative to the most clicked rank. An
engine that answers some queries above its results can cause this, but no rank without clicks."""

CLICK_RATES = """
SELECT rank, count, total FROM click_diagnostics_{side}
WHERE measure = 'click_through' ORDER BY rank
"""

WITHOUT_CLICK = """
SELECT count FROM click_diagnostics_{side} WHERE measure = 'impressions_without_click'
"""


@dataclass(frozen=True)
class RecordedClicks:
    """Clicks of a snapshot by rank.

    Args:
        clicks: Clicks on each rank, from rank 1.
        shown: Impressions with a result at each rank, from rank 1.
        without_click: Impressions without a click.
    """

    clicks: Sequence[int]
    shown: Sequence[int]
    without_click: int

    @property
    def impressions(self) -> int:
        """Number of impressions."""
        return self.shown[0] if self.shown else 0

    @property
    def clicked(self) -> int:
        """Number of impressions with a click."""
        return self.impressions - self.without_click

    @property
    def share_without_click(self) -> float:
        """Share of impressions without a click."""
        return self.without_click / self.impressions

    @property
    def further_clicks(self) -> float:
        """Mean number of clicks after the first one, per impression with a click."""
        return sum(self.clicks) / self.clicked - 1 if self.clicked else 0.0

    @property
    def depth(self) -> int:
        """Last rank at which more than the share `MAX_ABSENT` of impressions have a result."""
        return sum(shown > MAX_ABSENT * self.impressions for shown in self.shown)

    @property
    def mean_length(self) -> float:
        """Mean number of results of an impression."""
        return sum(self.shown) / self.impressions

    def share_with_rank(self, rank: int) -> float:
        """Share of impressions that have a result at a rank."""
        return self.shown[rank - 1] / self.impressions if rank <= len(self.shown) else 0.0

    @property
    def avoids_first_rank(self) -> bool:
        """Whether the first rank is clicked far less often than the most clicked rank."""
        first, *others = zip(self.clicks, self.shown, strict=True)
        most = max(others, key=lambda counts: counts[0] / counts[1], default=first)
        rates = [clicks / shown for clicks, shown in (first, most)]
        return (
            rates[0] < MAX_AVOIDED * rates[1] and fisher_exact_p_value(first, most) <= SIGNIFICANCE
        )

    @property
    def lacks_first_rank(self) -> bool:
        """Whether the first rank is avoided and has next to no clicks."""
        return self.avoids_first_rank and self.clicks[0] <= MAX_ABSENT * sum(self.clicks)


def check_click_recording(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find patterns of clicks in only one snapshot that users cannot have caused."""
    both = [_read_clicks(connection, side) for side in ("from", "to")]
    if min(snapshot.impressions for snapshot in both) < MIN_IMPRESSIONS:
        return cannot_tell(f"one of the snapshots has fewer than {MIN_IMPRESSIONS} impressions")
    without = [snapshot.share_without_click for snapshot in both]
    further = [snapshot.further_clicks for snapshot in both]
    avoided = [snapshot.avoids_first_rank for snapshot in both]
    says = (
        f"{format_share(without[0])} of impressions before and {format_share(without[1])} after "
        f"have no click, and those with a click have {further[0]:.2f} and {further[1]:.2f} "
        "further clicks on average"
    )
    numbers = {"without_click": without, "further_clicks": further, "first_avoided": avoided}
    found = []
    if _is_in_only_one(without):
        found.append("impressions without a click were left out of one log")
    if min(s.clicked for s in both) >= MIN_CLICKED and _is_in_only_one(further):
        found.append("clicks after the first one were left out of one log")
    if avoided[0] != avoided[1]:
        when = "before" if avoided[0] else "after"
        if both[avoided.index(True)].lacks_first_rank:
            found.append(f"the first rank has no clicks {when}: ranks are numbered differently")
        elif not found:
            reason = "either ranks are numbered differently or the result page changed"
            avoids = f"the first rank is hardly clicked {when}: {reason}"
            return Outcome(None, f"{says}; {avoids}", numbers)
    sees = "a log without its impressions without clicks, or with other clicked ranks"
    verdict = f": {'; '.join(found)}" if found else ""
    return Outcome(bool(found), says + verdict, numbers, "" if found else sees)


def check_result_lists(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check whether the result lists of only one snapshot are cut at a rank, or half as long."""
    both = [_read_clicks(connection, side) for side in ("from", "to")]
    if min(snapshot.impressions for snapshot in both) < MIN_IMPRESSIONS:
        return cannot_tell(f"one of the snapshots has fewer than {MIN_IMPRESSIONS} impressions")
    short, long = sorted(both, key=lambda snapshot: snapshot.depth)
    depths = [snapshot.depth for snapshot in both]
    means = [snapshot.mean_length for snapshot in both]
    numbers = {"depths": depths, "mean_lengths": means}
    says = (
        f"result lists end at rank {depths[0]} before and at rank {depths[1]} after, and have "
        f"{means[0]:.1f} and {means[1]:.1f} results on average"
    )
    is_cut = (
        short.share_with_rank(short.depth) >= MIN_FULL
        and long.share_with_rank(short.depth + 1) >= MIN_PRESENT
        and short.depth < long.depth
    )
    if is_cut or min(means) <= HALF * max(means):
        reason = "either the log was cut or the engine shows another number of results"
        return Outcome(None, f"{says}: {reason}", numbers)
    sees = "lists of half the length, or cut at a rank that most of them reach"
    return Outcome(False, says, numbers, sees)


def _is_in_only_one(shares: Sequence[float]) -> bool:
    """Whether a property is common in one snapshot and does not occur in the other."""
    return min(shares) <= MAX_ABSENT and max(shares) >= MIN_PRESENT


def _read_clicks(connection: duckdb.DuckDBPyConnection, side: str) -> RecordedClicks:
    """Return the clicks of a snapshot; no impressions if its `click_diagnostics` are empty."""
    rows = connection.execute(CLICK_RATES.format(side=side)).fetchall()
    without = connection.execute(WITHOUT_CLICK.format(side=side)).fetchall()
    return RecordedClicks(
        [clicks for _, clicks, _ in rows],
        [shown for _, _, shown in rows],
        without[0][0] if without else 0,
    )


CHECKS = (
    Check("clicks_are_recorded", "Are clicks recorded by the same rule?", check_click_recording),
    Check(
        "lists_are_recorded", "Are result lists recorded down to the same rank?", check_result_lists
    ),
)
