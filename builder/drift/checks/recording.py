"""Checks that impressions and clicks were recorded by the same rules.

Users change how often they click, but not all at once: in some impressions nobody clicks, in others
somebody clicks twice, and the first rank is never the one that is avoided. Where the table
`click_diagnostics` of one snapshot shows that, and the other one does not, the log was exported
differently. A release has no such table.
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

FEWEST, FEWEST_CLICKED = 200, 100
"""Minimum number of impressions of a snapshot, and of those with a click."""

NONE, SOME = 0.002, 0.1
"""Maximum share of impressions that counts as none, and minimum share that counts as some."""

FULL = 0.5
"""Minimum share of impressions that have the last rank of result lists that were cut."""

AVOIDED = 0.5
"""Maximum click rate of an avoided first rank, relative to the most clicked rank."""

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
        shown: Impressions that have each rank, from rank 1.
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
        """Clicks beyond the first one, per impression that has a click."""
        return sum(self.clicks) / self.clicked - 1 if self.clicked else 0.0

    @property
    def depth(self) -> int:
        """Last rank at which more impressions than `NONE` have a result."""
        return sum(shown > NONE * self.impressions for shown in self.shown)

    def share_with_rank(self, rank: int) -> float:
        """Share of impressions that have a result at a rank."""
        return self.shown[rank - 1] / self.impressions if rank <= len(self.shown) else 0.0

    @property
    def avoids_first_rank(self) -> bool:
        """Whether the first rank is clicked far less often than another one."""
        first, *others = zip(self.clicks, self.shown, strict=True)
        most = max(others, key=lambda rank: rank[0] / rank[1], default=first)
        rates = [clicks / shown for clicks, shown in (first, most)]
        return rates[0] < AVOIDED * rates[1] and fisher_exact_p_value(first, most) <= SIGNIFICANCE


def check_click_recording(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find properties of clicks that only one of the snapshots has, although users cannot."""
    both = [_read_clicks(connection, side) for side in ("from", "to")]
    if min(snapshot.impressions for snapshot in both) < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} impressions of a snapshot are recorded")
    without = [snapshot.share_without_click for snapshot in both]
    further = [snapshot.further_clicks for snapshot in both]
    avoided = [snapshot.avoids_first_rank for snapshot in both]
    says = (
        f"{format_share(without[0])} of impressions before and {format_share(without[1])} after "
        f"have no click, and those with a click have {further[0]:.2f} and {further[1]:.2f} "
        "further ones"
    )
    numbers = {"without_click": without, "further_clicks": further, "first_avoided": avoided}
    found = []
    if _is_in_one_only(without):
        found.append("impressions without a click were left out of one log")
    if min(s.clicked for s in both) >= FEWEST_CLICKED and _is_in_one_only(further):
        found.append("further clicks of an impression were left out of one log")
    if avoided[0] != avoided[1]:
        when = ("after", "before")[avoided[0]]
        found.append(f"the first rank is avoided {when}: clicked ranks are counted differently")
    sees = "impressions without a click or further clicks left out; ranks of clicks moved down"
    verdict = f": {'; '.join(found)}" if found else ""
    return Outcome(bool(found), says + verdict, numbers, "" if found else sees)


def check_result_lists(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find a rank at which the result lists of one snapshot end, but not those of the other one."""
    both = [_read_clicks(connection, side) for side in ("from", "to")]
    if min(snapshot.impressions for snapshot in both) < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} impressions of a snapshot are recorded")
    short, long = sorted(both, key=lambda snapshot: snapshot.depth)
    depths = [snapshot.depth for snapshot in both]
    says = f"result lists end at rank {depths[0]} before and at rank {depths[1]} after"
    is_cut = (
        short.share_with_rank(short.depth) >= FULL
        and long.share_with_rank(short.depth + 1) >= SOME
        and short.depth < long.depth
    )
    verdict = ": the log or the result page was cut, whatever users did" if is_cut else ""
    sees = "result lists that are cut at a rank that most of them reach"
    return Outcome(is_cut, says + verdict, {"depths": depths}, "" if is_cut else sees)


def _is_in_one_only(shares: Sequence[float]) -> bool:
    """Whether a property is common in one snapshot and does not occur in the other."""
    return min(shares) <= NONE and max(shares) >= SOME


def _read_clicks(connection: duckdb.DuckDBPyConnection, side: str) -> RecordedClicks:
    """Return the clicks in `click_diagnostics` of a snapshot; no impressions if it is empty."""
    rows = connection.execute(CLICK_RATES.format(side=side)).fetchall()
    without = connection.execute(WITHOUT_CLICK.format(side=side)).fetchall()
    return RecordedClicks(
        [clicks for _, clicks, _ in rows],
        [shown for _, _, shown in rows],
        without[0][0] if without else 0,
    )


CHECKS = (
    Check("clicks_are_recorded", "Are clicks recorded by the same rule?", check_click_recording),
    Check("lists_are_recorded", "Are result lists recorded to the same rank?", check_result_lists),
)
