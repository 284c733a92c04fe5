"""Checks that impressions and clicks were recorded by the same rules.

User behavior changes, but some patterns remain: some impressions have no click, some have several,
users do not avoid the first rank, and some click on low ranks. If only one snapshot shows these
patterns, the logs were exported differently. The patterns are measured from the table
`click_diagnostics`, which imported releases do not have.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from builder.drift.checks.outcome import (
    SIGNIFICANCE_LEVEL,
    Check,
    Outcome,
    format_share,
    undecided_outcome,
)
from builder.statistics.significance import fisher_exact_p_value

MIN_IMPRESSIONS, MIN_IMPRESSIONS_WITH_CLICK = 200, 100
"""Minimum numbers of impressions, and of impressions with a click, per snapshot."""

MAX_SHARE_IF_ABSENT, MIN_SHARE_IF_PRESENT = 0.002, 0.1
"""A pattern is absent from a log if at most the first share of impressions shows it, and present if
at least the second share does."""

MIN_SHARE_IN_DOUBT = 0.02
"""If at least this share of the impressions of one log have no click, a log in which every
impression has a click is suspect."""

MIN_FULL_LIST_SHARE = 0.5
"""Minimum share of result lists that reach the last rank for suspecting that lists were truncated
at this rank."""

MAX_LENGTH_RATIO = 0.8
"""Maximum ratio of the shorter to the longer mean length of result lists that suggests that results
were omitted."""

MAX_AVOIDED_RATIO = 0.5
"""The first rank is avoided if its click rate is less than this fraction of the highest click rate
of any rank. An engine that shows direct answers above its results can cause a low ratio, but not a
first rank without any clicks."""

CLICK_RATES = """
SELECT rank, count, total FROM click_diagnostics_{side}
WHERE measure = 'click_through' ORDER BY rank
"""

WITHOUT_CLICK = """
SELECT count FROM click_diagnostics_{side} WHERE measure = 'impressions_without_click'
"""


@dataclass(frozen=True)
class ClicksByRank:
    """Numbers of clicks and impressions of a snapshot by rank.

    Args:
        clicks: Number of clicks at each rank, starting with rank 1.
        shown: Number of impressions with a result at each rank, starting with rank 1.
        impressions_without_click: Number of impressions without a click.
    """

    clicks: Sequence[int]
    shown: Sequence[int]
    impressions_without_click: int

    @property
    def impressions(self) -> int:
        """Number of impressions."""
        return self.shown[0] if self.shown else 0

    @property
    def impressions_with_click(self) -> int:
        """Number of impressions with a click."""
        return self.impressions - self.impressions_without_click

    @property
    def share_without_click(self) -> float:
        """Share of impressions without a click."""
        return self.impressions_without_click / self.impressions

    @property
    def mean_additional_clicks(self) -> float:
        """Mean number of clicks beyond the first, over the impressions with a click."""
        return (
            sum(self.clicks) / self.impressions_with_click - 1
            if self.impressions_with_click
            else 0.0
        )

    @property
    def list_depth(self) -> int:
        """Number of ranks at which more than `MAX_SHARE_IF_ABSENT` of impressions have a result."""
        return sum(shown > MAX_SHARE_IF_ABSENT * self.impressions for shown in self.shown)

    @property
    def mean_list_length(self) -> float:
        """Mean number of results per impression."""
        return sum(self.shown) / self.impressions

    @property
    def click_depth(self) -> int:
        """Last rank with more than `MAX_SHARE_IF_ABSENT` of all clicks; 0 if there is no click."""
        least = MAX_SHARE_IF_ABSENT * sum(self.clicks)
        return max((rank for rank, n in enumerate(self.clicks, 1) if n > least), default=0)

    def share_of_clicks_below(self, rank: int) -> float:
        """Return the share of clicks that are on results below the given 1-based rank."""
        return sum(self.clicks[rank:]) / max(sum(self.clicks), 1)

    def share_reaching_rank(self, rank: int) -> float:
        """Return the share of impressions that have a result at the given 1-based rank."""
        return self.shown[rank - 1] / self.impressions if rank <= len(self.shown) else 0.0

    @property
    def has_few_first_rank_clicks(self) -> bool:
        """Whether the first rank has a far lower click rate than the most clicked rank."""
        first, *others = zip(self.clicks, self.shown, strict=True)
        most = max(others, key=lambda counts: counts[0] / counts[1], default=first)
        rates = [clicks / shown for clicks, shown in (first, most)]
        return (
            rates[0] < MAX_AVOIDED_RATIO * rates[1]
            and fisher_exact_p_value(first, most) <= SIGNIFICANCE_LEVEL
        )

    @property
    def has_almost_no_first_rank_clicks(self) -> bool:
        """Whether rank 1 has almost no clicks, and a far lower click rate than another rank."""
        return self.has_few_first_rank_clicks and self.clicks[0] <= MAX_SHARE_IF_ABSENT * sum(
            self.clicks
        )


def check_click_recording(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check whether only one snapshot has click patterns that users cannot have caused."""
    both = [_load_clicks_by_rank(connection, side) for side in ("from", "to")]
    if min(snapshot.impressions for snapshot in both) < MIN_IMPRESSIONS:
        return undecided_outcome(
            f"one of the snapshots has fewer than {MIN_IMPRESSIONS} impressions"
        )
    without = [snapshot.share_without_click for snapshot in both]
    further = [snapshot.mean_additional_clicks for snapshot in both]
    avoided = [snapshot.has_few_first_rank_clicks for snapshot in both]
    says = (
        f"the share of impressions without a click is {format_share(without[0])} before and "
        f"{format_share(without[1])} after, and the mean number of additional clicks per "
        f"impression with a click is {further[0]:.2f} before and {further[1]:.2f} after"
    )
    numbers = {"without_click": without, "further_clicks": further, "first_avoided": avoided}
    found = []
    if _is_pattern_in_only_one_snapshot(without):
        found.append("impressions without a click were left out of one log")
    if min(
        s.impressions_with_click for s in both
    ) >= MIN_IMPRESSIONS_WITH_CLICK and _is_pattern_in_only_one_snapshot(further):
        found.append(
            "one log has no second clicks: they were left out, or each click is an impression"
        )
    if avoided[0] != avoided[1]:
        when = "before" if avoided[0] else "after"
        if both[avoided.index(True)].has_almost_no_first_rank_clicks:
            found.append(f"the first rank has no clicks {when}: ranks are numbered differently")
        elif not found:
            reason = "either ranks are numbered differently or the result page changed"
            avoids = f"the first rank has a low click rate {when}: {reason}"
            return Outcome(None, f"{says}; {avoids}", numbers)
    if not found and _is_pattern_in_only_one_snapshot(without, MIN_SHARE_IN_DOUBT):
        reason = (
            "either impressions without a click were left out of one log, or nearly all of its "
            "impressions received a click"
        )
        return Outcome(None, f"{says}: {reason}", numbers)
    if not found and _lacks_clicks_on_low_ranks(*both):
        depths = [snapshot.click_depth for snapshot in both]
        reason = (
            f"clicks end at rank {depths[0]} before and at rank {depths[1]} after: either clicks "
            "on lower ranks were left out of one log, or users did not click there"
        )
        return Outcome(None, f"{says}; {reason}", numbers | {"click_depths": depths})
    sees = (
        "a log that lacks impressions without a click, clicks after the first, clicks on the first "
        "rank, or clicks on low ranks"
    )
    verdict = f": {'; '.join(found)}" if found else ""
    return Outcome(bool(found), says + verdict, numbers, "" if found else sees)


def check_result_lists(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check whether the result lists of one snapshot are truncated, or much shorter on average.

    They are much shorter if their mean length is at most `MAX_LENGTH_RATIO` times the mean length
    in the other snapshot.
    """
    both = [_load_clicks_by_rank(connection, side) for side in ("from", "to")]
    if min(snapshot.impressions for snapshot in both) < MIN_IMPRESSIONS:
        return undecided_outcome(
            f"one of the snapshots has fewer than {MIN_IMPRESSIONS} impressions"
        )
    short, long = sorted(both, key=lambda snapshot: snapshot.list_depth)
    depths = [snapshot.list_depth for snapshot in both]
    means = [snapshot.mean_list_length for snapshot in both]
    numbers = {"depths": depths, "mean_lengths": means}
    says = (
        f"result lists end at rank {depths[0]} before and at rank {depths[1]} after, and have "
        f"{means[0]:.1f} results on average before and {means[1]:.1f} after"
    )
    is_cut = (
        short.share_reaching_rank(short.list_depth) >= MIN_FULL_LIST_SHARE
        and long.share_reaching_rank(short.list_depth + 1) >= MIN_SHARE_IF_PRESENT
    )
    if is_cut or min(means) <= MAX_LENGTH_RATIO * max(means):
        reason = "either one log has truncated lists or the engine changed the number of results"
        return Outcome(None, f"{says}: {reason}", numbers)
    sees = (
        f"lists that are {format_share(1 - MAX_LENGTH_RATIO)} shorter on average, or truncated at "
        "a rank that most lists reach"
    )
    return Outcome(False, says, numbers, sees)


def _is_pattern_in_only_one_snapshot(
    shares: Sequence[float], min_share_if_present: float = MIN_SHARE_IF_PRESENT
) -> bool:
    """Whether a pattern is common in one of two snapshots and absent from the other."""
    return min(shares) <= MAX_SHARE_IF_ABSENT and max(shares) >= min_share_if_present


def _lacks_clicks_on_low_ranks(before: ClicksByRank, after: ClicksByRank) -> bool:
    """Whether one snapshot lacks clicks on low ranks that have many clicks in the other one.

    False if most result lists of the snapshot without these clicks do not reach these ranks,
    because `check_result_lists` finds such lists.
    """
    short, long = sorted((before, after), key=lambda snapshot: snapshot.click_depth)
    depth = short.click_depth
    return (
        short.impressions_with_click >= MIN_IMPRESSIONS_WITH_CLICK
        and long.share_of_clicks_below(depth) >= MIN_SHARE_IF_PRESENT
        and short.share_reaching_rank(depth + 1) >= MIN_FULL_LIST_SHARE
    )


def _load_clicks_by_rank(connection: duckdb.DuckDBPyConnection, side: str) -> ClicksByRank:
    """Load the click counts of a snapshot; all are 0 if it has no click diagnostics."""
    rows = connection.execute(CLICK_RATES.format(side=side)).fetchall()
    without = connection.execute(WITHOUT_CLICK.format(side=side)).fetchall()
    return ClicksByRank(
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
