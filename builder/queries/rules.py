"""Defines the rules that exclude queries, and the funnel, which counts the excluded queries.

Rules are expressions over a table with one row per query, which has the columns of
`forms.choose_published_texts`, counts and topics. They are applied in order: a query is counted
under the first rule that excludes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from builder.parameters import SelectionParameters
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
class QueryRule:
    """A rule that excludes queries.

    Args:
        name: Name of the rule in the rejects and in the funnel.
        condition: Boolean expression that is true for excluded queries; null is treated as false.
    """

    name: str
    condition: pl.Expr


EXCLUDED_USERS_ONLY = "only_left_out_users"
"""Name of the rule for queries issued only by excluded users, such as bots."""

ANONYMITY = "too_few_users"
"""Name of the k-anonymity rule, which `counting` applies before any text is read."""


def selection_rules(
    params: SelectionParameters,
    stop_list: Sequence[str] = (),
    verdicts: Mapping[str, pl.Series] | None = None,
) -> tuple[QueryRule, ...]:
    """Return the selection rules applied to queries that are k-anonymous, in order of application.

    Args:
        params: Section `[select]` of the definition, with thresholds and options of the rules.
        stop_list: Folded queries or words to exclude.
        verdicts: Keys of the queries that each verdict filter excludes, by filter name.
    """
    words = pl.col("folded").str.count_matches(" ", literal=True) + 1
    share = pl.col("top_clicks") / pl.col("clicks")
    return (
        *(QueryRule(f"personal_{kind}", pl.col("personal") == kind) for kind in KINDS),
        QueryRule("too_few_impressions", pl.col("impressions") < params.min_impressions),
        QueryRule("too_few_clicks", pl.col("clicks") < params.min_clicks),
        QueryRule("too_many_words", words > params.max_words),
        QueryRule("too_many_characters", pl.col("typed").str.len_chars() > params.max_chars),
        QueryRule(
            "search_operator",
            _exclusion_condition(params.operators, pl.col("typed").str.contains(OPERATOR)),
        ),
        QueryRule(
            "url_like", _exclusion_condition(params.url_like, is_url_like_expr(pl.col("typed")))
        ),
        QueryRule(
            "navigational",
            (pl.col("clicks") >= params.navigational_clicks)
            & (share >= pl.lit(params.navigational_share, dtype=pl.Float64)),
        ),
        QueryRule("stop_list", _in_stop_list_expr(stop_list, params)),
        *(
            QueryRule(f"verdict_{name}", pl.col("query").is_in(keys.implode()))
            for name, keys in (verdicts or {}).items()
        ),
        QueryRule("no_topic", pl.col("topics").list.len() == 0),
    )


def is_url_like_expr(query: pl.Expr) -> pl.Expr:
    """Return an expression that is true for URLs, and for hosts with common top-level domains."""
    return query.str.contains(ADDRESS) | query.str.contains(HOST)


def first_matching_rule_expr(rules: Sequence[QueryRule]) -> pl.Expr:
    """Return an expression for the name of the first rule that excludes a query, or null."""
    return pl.coalesce(pl.when(rule.condition).then(pl.lit(rule.name)) for rule in rules).alias(
        "reason"
    )


def _exclusion_condition(option: str, condition: pl.Expr) -> pl.Expr:
    """Return the condition if the option has the value `drop`, otherwise a literal false."""
    return condition if option == "drop" else pl.lit(False)


def _in_stop_list_expr(stop_list: Sequence[str], params: SelectionParameters) -> pl.Expr:
    """Return an expression that is true for queries in the stop list.

    If `params.stop_matching` is `word`, it is also true for queries that contain an entry as
    whole words.
    """
    if not stop_list:
        return pl.lit(False)
    if params.stop_matching == "query":
        return pl.col("folded").is_in(list(stop_list))
    padded = pl.lit(" ") + pl.col("folded") + pl.lit(" ")
    return padded.str.contains_any([f" {words} " for words in stop_list])


@dataclass(frozen=True)
class FunnelStep:
    """Step of the query funnel, with the number of queries that one rule excluded.

    Args:
        rule: Name of the rule.
        left_out: Number of queries excluded by this rule but by no earlier rule.
        remaining: Number of queries that passed this rule and all earlier rules.
    """

    rule: str
    left_out: int
    remaining: int


def funnel_steps(rows_in: int, rejected: Mapping[str, int]) -> tuple[FunnelStep, ...]:
    """Return the steps of the query funnel, with the number of queries that each rule excluded.

    Args:
        rows_in: Number of distinct queries of the log.
        rejected: Number of excluded queries by rule, from the ledger or rejects of the stage.

    Returns:
        One step per rule, in order of application. Verdict filters are sorted by name and come
        before the last rule, `no_topic`.
    """
    names = (rule.name for rule in selection_rules(SelectionParameters()))
    known = [EXCLUDED_USERS_ONLY, ANONYMITY, *names]
    verdicts = sorted(set(rejected) - set(known))
    steps: list[FunnelStep] = []
    remaining = rows_in
    for name in (*known[:-1], *verdicts, known[-1]):
        remaining -= rejected.get(name, 0)
        steps.append(FunnelStep(name, rejected.get(name, 0), remaining))
    return tuple(steps)
