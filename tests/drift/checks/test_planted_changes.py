"""A planted change of construction is named, one of the world is not, whatever the seed."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from builder.drift.checks import attachment, grading, lists, scoring, selection, thresholds
from builder.drift.checks.outcome import Outcome
from schemas import ClickDiagnostics, Qrels, Queries
from tests.drift.worlds import Rules, World, asked, compare, frame, query
from tests.thorough import ALL

SEEDS = range(20 if ALL else 3)
CHECKS = (
    *lists.PAIR_CHECKS,
    *selection.CHECKS,
    *thresholds.CHECKS,
    *scoring.CHECKS,
    *grading.CHECKS,
    attachment.CHECKS[0],
)

PLANTED: dict[str, tuple[dict[str, Any], str]] = {
    "topics dropped": ({"dropped_topics": (1, 5)}, "topics_are_the_same"),
    "long queries filtered": ({"max_words": 4}, "filter_is_the_same"),
    "threshold raised": ({"min_impressions": 15}, "floors_stand"),
    "evidence raised": ({"min_examinations": 10}, "floors_stand"),
    "cuts moved": ({"cuts": (0.25, 0.55)}, "cuts_stand"),
    "prior changed": ({"prior": 0.3}, "priors_stand"),
}
"""A change of rules, and the check that must name it."""

HAPPENED: dict[str, dict[str, Any]] = {
    "interest in topics falls to a twentieth": {"interest": ((1, 0.05), (5, 0.05))},
    "interest in long queries fades": {"interest_in_long": 0.05},
    "traffic falls": {"traffic": 1 / 3},
    "traffic grows": {"traffic": 3.0},
    "results attract less": {"attraction": 0.6},
    "results attract more": {"attraction": 1.5},
    "nothing": {},
}
"""Changes of the world that move the same numbers as much."""


def found(
    world: World, later: World, rules: Rules, after: Rules, only: str | None = None
) -> set[str]:
    parameters = {
        "clicks.model": "sdbn",
        "clicks.prior": "beta",
        "clicks.prior_alpha": rules.prior,
        "clicks.prior_beta": rules.prior,
    }
    recorded = dict.fromkeys(("from", "to"), parameters)
    with compare(asked(world, rules, 0), asked(later, after, 1), recorded) as connection:
        return {
            check.name
            for check in CHECKS
            if only in (None, check.name) and check.run(connection).is_construction
        }


@pytest.mark.parametrize("name", PLANTED)
def test_a_change_of_construction_is_named(name: str) -> None:
    change, check = PLANTED[name]
    for seed in SEEDS:
        world = World(seed)
        assert check in found(world, world, Rules(), replace(Rules(), **change), check), seed


@pytest.mark.parametrize("name", ["threshold raised", "cuts moved"])
def test_a_rule_that_is_undone_is_named_too(name: str) -> None:
    change, check = PLANTED[name]
    for seed in SEEDS[:5]:
        world = World(seed)
        assert check in found(world, world, replace(Rules(), **change), Rules(), check), seed


@pytest.mark.parametrize("name", HAPPENED)
def test_a_change_of_the_world_is_not(name: str) -> None:
    for seed in SEEDS:
        world = World(seed)
        assert found(world, replace(world, **HAPPENED[name]), Rules(), Rules()) == set(), seed


def test_the_changes_are_of_one_size() -> None:
    """A planted change takes as many queries, or moves as many grades, as its counterpart."""
    pairs = [
        ("topics dropped", "interest in topics falls to a twentieth"),
        ("long queries filtered", "interest in long queries fades"),
        ("threshold raised", "traffic falls"),
    ]
    world = World()
    queries, qrels = asked(world, Rules(), 0)
    for planted, happened in pairs:
        rules = replace(Rules(), **PLANTED[planted][0])
        lost = [
            queries.height - asked(world, rules, 1)[0].height,
            queries.height - asked(replace(world, **HAPPENED[happened]), Rules(), 1)[0].height,
        ]
        assert min(lost) > 0.5 * max(lost)
        assert min(lost) > 0.1 * queries.height
    shares = [
        table.filter(pl.col("grade") > 0).height / table.height
        for table in (
            qrels,
            asked(world, replace(Rules(), cuts=(0.25, 0.55)), 1)[1],
            asked(replace(world, attraction=0.6), Rules(), 1)[1],
        )
    ]
    assert shares[0] - 0.1 > max(shares[1:])


@pytest.mark.parametrize("seed", range(5))
def test_few_queries_cannot_show_that_a_topic_was_struck(seed: int) -> None:
    """Two struck topics of four queries each are found, or the check cannot tell: never clear."""
    world = World(seed, queries_per_topic=4)
    after = replace(Rules(), dropped_topics=(1, 5))
    with compare(asked(world, Rules(), 0), asked(world, after, 1)) as connection:
        outcome = selection.check_topics(connection)
    assert outcome.is_construction is not False
    assert outcome.is_construction or "frequent queries" in outcome.detectable


def test_enough_queries_show_any_topic() -> None:
    world = World(0)
    with compare(asked(world, Rules(), 0), asked(world, Rules(), 1)) as connection:
        outcome = selection.check_topics(connection)
    assert (outcome.is_construction, outcome.detectable) == (
        False,
        "the deletion of any topic from the list",
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_threshold_that_few_impressions_cannot_show(seed: int) -> None:
    """A minimum of 20 impressions instead of 5: named in a large world, never clear in a small."""
    small = World(seed, topics=2, queries_per_topic=8)
    raised = replace(Rules(), min_impressions=20)
    with compare(asked(small, Rules(), 0), asked(small, raised, 1)) as connection:
        outcome = thresholds.check_minimum_counts(connection)
    assert outcome.is_construction is not False
    assert outcome.is_construction or "is detectable with about" in outcome.detectable


def asked_times(rows: list[tuple[str, str, int]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Queries of a month from text, topic and impressions; no judgements."""
    queries = [query(text, topic, impressions=times) for text, topic, times in rows]
    return frame(queries, Queries), frame([], Qrels)


@pytest.mark.parametrize(("judo_later", "expected"), [(12, None), (200, True)])
def test_a_topic_that_vanishes_as_others_fade_is_not_called_struck(
    judo_later: int, expected: bool | None
) -> None:
    """Interest in sport fell to 6 %: `ski` vanished, and `judo` shows how far interest can fall.

    `pile` rose fivefold, so that queries are shown 1.5 times as often overall: 120 impressions
    are then more than 20 times the least number, 5, but 6 % of them are less than 4 times.
    """
    others = [(f"q{n}", f"t{n}", 100) for n in range(60)]
    before = [*others, ("pile", "pile", 1000), ("judo", "judo", 200)]
    before += [(f"ski {n}", "ski", 120) for n in range(3)]
    after = [*others, ("pile", "pile", 5000), ("judo", "judo", judo_later), ("rare", "t0", 5)]
    with compare(asked_times(before), asked_times(after)) as connection:
        outcome = selection.check_topics(connection)
    assert outcome.is_construction is expected
    topics = [topic["topic"] for topic in outcome.numbers.get("topics", [])]
    assert topics == (["ski"] if expected else [])


@pytest.mark.parametrize("direction", ["added", "removed"])
def test_a_news_event_does_not_change_the_topics(direction: str) -> None:
    """Eight queries on avian flu are new, or gone again; `vaccin grippe` is in both snapshots."""
    calm = [*((f"q{n}", f"t{n % 20}", 100) for n in range(60)), ("rare", "t0", 5)]
    calm.append(("vaccin grippe", "grippe", 100))
    event = [*calm, *((f"grippe aviaire {n}", "grippe", 150) for n in range(8))]
    pair = (calm, event) if direction == "added" else (event, calm)
    with compare(*map(asked_times, pair)) as connection:
        outcome = selection.check_topics(connection)
    change = {"topic": "grippe", "direction": direction, "safe": 9, "taken": 8}
    assert outcome == Outcome(
        None,
        "8 of 9 queries of the topic 'grippe' that were frequent enough to be in both snapshots "
        f"were {direction}: either user interest or the list of topics (labels or aliases) changed",
        {"topics": [change]},
    )


def test_the_first_queries_of_a_topic_may_be_an_event() -> None:
    calm = [*((f"q{n}", f"t{n % 20}", 100) for n in range(60)), ("rare", "t0", 5)]
    event = [*calm, *((f"grippe aviaire {n}", "grippe", 150) for n in range(8))]
    with compare(asked_times(calm), asked_times(event)) as connection:
        assert selection.check_topics(connection).is_construction is None
    with compare(asked_times(event), asked_times(calm)) as connection:
        assert selection.check_topics(connection).is_construction is True


def test_a_struck_topic_is_named_next_to_a_news_event() -> None:
    """Of `ski`, no query is left: the event on another topic does not hide that."""
    kept = [*((f"q{n}", f"t{n % 20}", 100) for n in range(60)), ("rare", "t0", 5)]
    kept.append(("vaccin grippe", "grippe", 100))
    before = [*kept, *((f"ski {n}", "ski", 150) for n in range(5))]
    after = [*kept, *((f"grippe aviaire {n}", "grippe", 150) for n in range(8))]
    with compare(asked_times(before), asked_times(after)) as connection:
        outcome = selection.check_topics(connection)
    assert outcome == Outcome(
        True,
        "5 of 5 queries of the topic 'ski' that were frequent enough to be in both snapshots were "
        "removed: the topics changed, unless interest changed more than twentyfold",
        {"topics": [{"topic": "ski", "direction": "removed", "safe": 5, "taken": 5}]},
    )


@pytest.mark.parametrize(
    ("removed", "added", "asked", "found"),
    [
        (30, 0, 110, True),
        (30, 7, 110, True),
        (30, 8, 110, None),
        (32, 8, 110, None),
        (30, 0, 90, None),
        (29, 0, 110, None),
        (8, 0, 110, None),
        (0, 8, 110, None),
        (1, 1, 110, False),
    ],
)
def test_queries_that_users_reword_add_or_drop_are_no_filter(
    removed: int, added: int, asked: int, found: bool | None
) -> None:
    """Each year `impôts 2022` is succeeded by `impôts 2023`, suggestions replace rare queries, and
    queries on an event end with it.

    Removed queries have `asked` impressions, the others 100.
    """
    kept = [(f"q{n}", f"t{n % 20}", 100) for n in range(60)]
    rare = ("rare", "t0", 5)
    before = [*kept, rare, *((f"old {n}", f"t{n % 20}", asked) for n in range(removed))]
    after = [*kept, rare, *((f"new {n}", f"t{n % 20}", 100) for n in range(added))]
    with compare(asked_times(before), asked_times(after)) as connection:
        outcome = selection.check_query_filter(connection)
    assert outcome.is_construction is found
    assert outcome.numbers == {
        "removed": {"safe": 60 + removed, "taken": removed, "fallen": 0},
        "added": {"safe": 60 + added, "taken": added, "fallen": 0},
    }
    assert outcome.evidence == (
        f"{removed} of {60 + removed} frequent queries were removed and {added} of {60 + added} "
        "frequent queries were added"
        + {
            True: ": queries of all topics are affected, so either a filter changed, or the rows "
            "or query texts of one log did",
            None: ": either a filter changed, or users reworded queries or sent other ones",
            False: "",
        }[found]
    )


@pytest.mark.parametrize(("removed", "found"), [(30, None), (1, False)])
def test_queries_may_be_missing_because_lists_became_shorter(
    removed: int, found: bool | None
) -> None:
    """Lists of two results instead of three: queries without judgements are left out."""
    kept = [*((f"q{n}", f"t{n % 20}", 100) for n in range(60)), ("rare", "t0", 5)]
    before = [*kept, *((f"old {n}", f"t{n % 20}", 110) for n in range(removed))]
    with compare(asked_times(before), asked_times(kept)) as connection:
        for side, depth in (("from", 3), ("to", 2)):
            rows = [("click_through", rank, 9, 500, None, None) for rank in range(1, depth + 1)]
            shown = pl.DataFrame(rows, ClickDiagnostics.dtypes(), orient="row")
            connection.execute(f"DROP VIEW click_diagnostics_{side}")
            connection.register(f"click_diagnostics_{side}", shown.to_arrow())
        outcome = selection.check_query_filter(connection)
    assert outcome.is_construction is found
    counts = f"{removed} of {60 + removed} frequent queries were removed and 0 of 60 frequent "
    reason = (
        ", but result lists end at rank 3 before and at rank 2 after, and have 3.0 results on "
        "average before and 2.0 after: either one log has truncated lists or the engine changed "
        "the number of results; shorter result lists may leave queries without judgements"
    )
    assert outcome.evidence == f"{counts}queries were added{reason if removed == 30 else ''}"


@pytest.mark.parametrize(
    ("frequent", "detectable"),
    [
        (0, None),
        (19, "needs 20 frequent queries"),
        (20, "a filter that removes 10.0 % of frequent queries"),
    ],
)
def test_twenty_frequent_queries_show_a_filter(frequent: int, detectable: str | None) -> None:
    rows = [*((f"q{n}", f"t{n % 20}", 100) for n in range(frequent)), ("rare", "t0", 5)]
    with compare(asked_times(rows), asked_times(rows)) as connection:
        outcome = selection.check_query_filter(connection)
    if detectable is None:
        reason = "no query is frequent enough to be expected in both snapshots"
        assert outcome == Outcome(None, reason)
    else:
        assert outcome.is_construction is (False if frequent == 20 else None)
        assert outcome.detectable == detectable


@pytest.mark.parametrize("small", [5, 6, 7])
def test_topics_that_are_too_small_to_be_missed_are_named(small: int) -> None:
    large = [(f"q{n}", "ski", 100) for n in range(60)]
    rows = [*large, *((f"k{n}", f"k{n}", 100) for n in range(small)), ("rare", "ski", 5)]
    with compare(asked_times(rows), asked_times(rows)) as connection:
        outcome = selection.check_topics(connection)
    more = {5: "", 6: " and 1 more", 7: " and 2 more"}[small]
    assert outcome == Outcome(
        None,
        "no topic lost or gained its frequent queries all at once",
        {"unseen": [f"k{n}" for n in range(small)]},
        f"too few frequent queries to detect the deletion of 'k0', 'k1', 'k2', 'k3', 'k4'{more}",
    )


def test_the_most_changed_topic_is_named_and_the_others_are_counted() -> None:
    kept = [*((f"q{n}", f"t{n % 20}", 100) for n in range(60)), ("rare", "t0", 5)]
    struck = {"ski": 7, "judo": 8, "voile": 7}
    lost = [(f"{topic} {n}", topic, 150) for topic, size in struck.items() for n in range(size)]
    with compare(asked_times([*kept, *lost]), asked_times(kept)) as connection:
        outcome = selection.check_topics(connection)
    assert outcome.evidence == (
        "8 of 8 queries of the topic 'judo' that were frequent enough to be in both snapshots were "
        "removed; so were queries of 2 more topics: the topics changed, unless interest changed "
        "more than twentyfold"
    )
