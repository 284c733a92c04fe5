"""The named rules that leave queries out, in the order in which they are applied and counted.

In: one row a query with the columns of `forms.describe`, its counts and its topics. Out: for each
query the first rule that leaves it out, or null. The counts in this order are the funnel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from builder.parameters import SelectParameters
from builder.queries.personal import KINDS

OPERATOR = (
    r"(?i)(?:^|[\s(\-])(?:site|inurl|allinurl|intitle|allintitle|intext|allintext|inanchor|"
    r"filetype|ext|cache|related|link|info|define):\S"
)
ADDRESS = r"(?i)^\s*(?:https?:/|ftp:/|www\s?\.)"
HOST = (
    r"(?i)^\s*[\p{L}\p{N}\-]+(?:\.[\p{L}\p{N}\-]+)*\.(?:com|fr|org|net|info|eu|be|ch|ca|lu|io|tv|"
    r"gouv|biz|co|uk|de|es|it|re|bzh|paris)(?:[/:?#]\S*)?\s*$"
)


@dataclass(frozen=True)
class Rule:
    """A reason to leave a query out.

    Args:
        name: Reason in rejects and funnel.
        leaves_out: Boolean expression over the described queries; null means no.
    """

    name: str
    leaves_out: pl.Expr


LEFT_OUT_USERS = "only_left_out_users"
"""Asked by nobody but users whom a verdict leaves out, such as bots."""

ANONYMITY = "too_few_users"
"""The rule before all that read text; it is applied to keys, in `counting.py`."""


def rules(
    params: SelectParameters,
    stop_list: Sequence[str] = (),
    verdicts: Mapping[str, pl.Series] | None = None,
) -> tuple[Rule, ...]:
    """All rules that read a query, in order.

    Args:
        params: Thresholds and switches.
        stop_list: Folded queries or words to leave out.
        verdicts: Query keys that each filter by verdict leaves out.
    """
    words = pl.col("folded").str.count_matches(" ", literal=True) + 1
    share = pl.col("top_clicks") / pl.col("clicks")
    return (
        *(Rule(f"personal_{kind}", pl.col("personal") == kind) for kind in KINDS),
        Rule("too_few_impressions", pl.col("impressions") < params.min_impressions),
        Rule("too_few_clicks", pl.col("clicks") < params.min_clicks),
        Rule("too_many_words", words > params.max_words),
        Rule("too_many_characters", pl.col("typed").str.len_chars() > params.max_chars),
        Rule("search_operator", _on(params.operators, pl.col("typed").str.contains(OPERATOR))),
        Rule("url_like", _on(params.url_like, is_url_like(pl.col("typed")))),
        Rule(
            "navigational",
            (pl.col("clicks") >= params.navigational_clicks)
            & (share >= pl.lit(params.navigational_share, dtype=pl.Float64)),
        ),
        Rule("stop_list", _in_stop_list(stop_list, params)),
        *(
            Rule(f"verdict_{name}", pl.col("query").is_in(keys.implode()))
            for name, keys in (verdicts or {}).items()
        ),
        Rule("no_topic", pl.col("topics").list.len() == 0),
    )


def is_url_like(typed: pl.Expr) -> pl.Expr:
    """Whether a text is an address or a host name of a common top-level domain."""
    return typed.str.contains(ADDRESS) | typed.str.contains(HOST)


def first_rule(ordered: Sequence[Rule]) -> pl.Expr:
    """Name of the first rule that leaves a query out; null where all let it pass."""
    return pl.coalesce(pl.when(rule.leaves_out).then(pl.lit(rule.name)) for rule in ordered).alias(
        "reason"
    )


def _on(switch: str, condition: pl.Expr) -> pl.Expr:
    return condition if switch == "drop" else pl.lit(False)


def _in_stop_list(stop_list: Sequence[str], params: SelectParameters) -> pl.Expr:
    if not stop_list:
        return pl.lit(False)
    if params.stop_matching == "query":
        return pl.col("folded").is_in(list(stop_list))
    padded = pl.lit(" ") + pl.col("folded") + pl.lit(" ")
    return padded.str.contains_any([f" {words} " for words in stop_list])


@dataclass(frozen=True)
class FunnelStep:
    """One rule of the funnel.

    Args:
        rule: Name of the rule.
        left_out: Queries that this rule left out, after all rules above it.
        remaining: Queries that remain after it.
    """

    rule: str
    left_out: int
    remaining: int


def funnel(rows_in: int, rejected: Mapping[str, int]) -> tuple[FunnelStep, ...]:
    """The funnel of a selection.

    Args:
        rows_in: Distinct queries of the log.
        rejected: Queries left out by rule, from the ledger or the rejects of the stage.

    Returns:
        One step for each rule, in the order of application; filters by verdict, by name, stand
        before the topics.
    """
    known = [LEFT_OUT_USERS, ANONYMITY, *(rule.name for rule in rules(SelectParameters()))]
    verdicts = sorted(set(rejected) - set(known))
    steps: list[FunnelStep] = []
    remaining = rows_in
    for name in (*known[:-1], *verdicts, known[-1]):
        remaining -= rejected.get(name, 0)
        steps.append(FunnelStep(name, rejected.get(name, 0), remaining))
    return tuple(steps)
