import polars as pl
import pytest

from builder.queries import FunnelStep, funnel_steps
from builder.queries.rules import OPERATOR, is_url_like_expr


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
