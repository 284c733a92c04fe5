import polars as pl
import pytest

from builder.parameters import SelectionParameters
from builder.queries import FunnelStep, funnel_steps
from builder.queries.rules import (
    OPERATOR,
    first_matching_rule_expr,
    is_url_like_expr,
    selection_rules,
)


def holds(text: str, expression: pl.Expr) -> bool:
    result: bool = pl.DataFrame({"text": [text]}).select(expression).item()
    return result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("site:gouv.fr impôts", True),
        ("impôts SITE:gouv.fr", True),
        ("formulaire filetype:pdf", True),
        ("(inurl:admin)", True),
        ("site: gouv", False),
        ("parasite:x", False),
        ("quel site pour voyager", False),
        ("14:30 train", False),
    ],
)
def test_search_operators(text: str, expected: bool) -> None:
    assert holds(text, pl.col("text").str.contains(OPERATOR)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://www.exemple.fr/page", True),
        ("www.exemple", True),
        ("www . exemple . fr", True),
        ("impots.gouv.fr", True),
        ("Exemple.com/page?x=1", True),
        ("exemple com", False),
        ("exemple.com avis", False),
        ("m.pokora", False),
        ("version 2.0", False),
    ],
)
def test_addresses(text: str, expected: bool) -> None:
    assert holds(text, is_url_like_expr(pl.col("text"))) is expected


def test_the_funnel_keeps_the_order_of_rules_with_verdicts_before_topics() -> None:
    steps = funnel_steps(10, {"no_topic": 4, "verdict_adult": 1, "too_few_users": 2})
    assert [step for step in steps if step.left_out] == [
        FunnelStep("too_few_users", 2, 8),
        FunnelStep("verdict_adult", 1, 7),
        FunnelStep("no_topic", 4, 3),
    ]
    assert steps[0].rule == "only_left_out_users"
    assert steps[-1] == FunnelStep("no_topic", 4, 3)
    assert [step.rule for step in steps] == [
        "only_left_out_users",
        "too_few_users",
        *(f"personal_{kind}" for kind in ("email", "phone", "iban", "nir", "card", "ip")),
        "too_few_impressions",
        "too_few_clicks",
        "too_many_words",
        "too_many_characters",
        "search_operator",
        "url_like",
        "navigational",
        "stop_list",
        "verdict_adult",
        "no_topic",
    ]


NOTABLE = {
    "query": 1,
    "folded": "eau de mer",
    "typed": "Eau de mer",
    "personal": None,
    "impressions": 6,
    "clicks": 10,
    "top_clicks": 8,
    "topics": ["t0"],
}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"personal": "phone", "impressions": 0}, "personal_phone"),
        ({"impressions": 5, "clicks": 0}, "too_few_impressions"),
        ({"impressions": 7}, None),
        ({"clicks": 3, "top_clicks": 1}, None),
        ({"clicks": 2, "top_clicks": 1}, "too_few_clicks"),
        ({"folded": "eau de la mer"}, None),
        ({"folded": "eau de la mer morte"}, "too_many_words"),
        ({"typed": "x" * 12}, None),
        ({"typed": "x" * 13}, "too_many_characters"),
        ({"typed": "site:b eau"}, "search_operator"),
        ({"typed": "eau.fr"}, "url_like"),
        ({"top_clicks": 9}, "navigational"),
        ({"top_clicks": 10}, "navigational"),
        ({"clicks": 11, "top_clicks": 11}, "navigational"),
        ({"clicks": 9, "top_clicks": 9}, None),
        ({"folded": "eau"}, "stop_list"),
        ({"folded": "eau de"}, None),
        ({"query": 7}, "verdict_adult"),
        ({"topics": []}, "no_topic"),
    ],
)
def test_the_rule_that_excludes_a_query(changes: dict, reason: str | None) -> None:
    """All counts lie at the limits, or one beyond."""
    params = SelectionParameters(
        min_impressions=6,
        min_clicks=3,
        max_words=4,
        max_chars=12,
        navigational_share=0.9,
        navigational_clicks=10,
    )
    rules = selection_rules(params, ["eau"], {"adult": pl.Series([7], dtype=pl.UInt64)})
    schema = {"query": pl.UInt64, "personal": pl.String, "topics": pl.List(pl.String)}
    queries = pl.DataFrame([NOTABLE | changes], schema_overrides=schema)
    assert queries.select(first_matching_rule_expr(rules))["reason"].to_list() == [reason]
