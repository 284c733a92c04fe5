"""The columns of the official scorer of TREC Temporal Summarization 2014, computed by hand."""

import math
from pathlib import Path

import pytest

from builder.tasks.summarization.files import (
    Event,
    JudgedNugget,
    NuggetMatch,
    PooledUpdate,
    PushedUpdate,
)
from builder.tasks.summarization.official import (
    COLUMNS,
    ideal_gain,
    marked_word_indexes,
    official_event_scores,
    official_means,
    official_scores,
)
from builder.tasks.summarization.parameters import SummarizationParameters
from builder.tasks.summarization.pool import matching_word_indexes
from builder.tasks.summarization.score import evaluate_summaries

LOW = math.exp(-2)
"""Relevance of a nugget of importance 1."""
HOURS_6 = 21_600
NUGGETS = {
    "n1": JudgedNugget(0, 3, "one two three four"),
    "n2": JudgedNugget(HOURS_6, 1, "five six"),
    "n0": JudgedNugget(0, 0, "a very long nugget that does not count"),
}
POOL = {
    "d-1": PooledUpdate(
        "aa bb cc dd ee", None, [NuggetMatch("n1", 3, 8), NuggetMatch("n2", 9, 14)]
    ),
    "d-2": PooledUpdate("x y z"),
    "e-1": PooledUpdate("aa bb cc dd ee", "d-1"),
    "d-3": PooledUpdate("aa bb cc", None, [NuggetMatch("n0", 0, 8), NuggetMatch("n9", 0, 8)]),
}
PUSHED = [PushedUpdate("d-2", 43_200), PushedUpdate("d-1", HOURS_6), PushedUpdate("z-9", 50_000)]
"""Not in order of time; z-9 is not pooled."""


def scores(pushed, pool=POOL, **parameters):
    return official_scores(Event(NUGGETS, pool), pushed, SummarizationParameters(**parameters))


def exactly(value):
    return pytest.approx(value, rel=1e-12, abs=0)


def test_all_columns_by_hand():
    """Verbosities 2, 4/3 and 4/3; gains 0, 1 + LOW and 0; confidences 1, 1/2 and 1/3."""
    ideal, verbosity, confidence = (1 + LOW) / 2, 14 / 3, 11 / 6
    gain, latency_gain = 1 + LOW, 0.5 + LOW
    normalized, comprehensiveness = latency_gain / verbosity / ideal, latency_gain / gain
    biased = [value * 0.5 / confidence for value in (normalized, comprehensiveness)]
    assert scores(PUSHED) == exactly(
        {
            "updates": 3,
            "expected_gain": gain / verbosity,
            "normalized_expected_gain": 3 / 7,
            "expected_latency_gain": latency_gain / verbosity,
            "normalized_expected_latency_gain": normalized,
            "comprehensiveness": 1.0,
            "latency_comprehensiveness": comprehensiveness,
            "harmonic_mean": 2 / (1 / normalized + 1 / comprehensiveness),
            "expected_verbosity": 14 / 9,
            "expected_latency": 1.5 / 3,
            "confidence_biased_expected_gain": gain * 3 / 11 / verbosity,
            "confidence_biased_normalized_expected_gain": 3 / 7 * 3 / 11,
            "confidence_biased_expected_latency_gain": latency_gain * 3 / 11 / verbosity,
            "confidence_biased_normalized_expected_latency_gain": biased[0],
            "confidence_biased_comprehensiveness": 3 / 11,
            "confidence_biased_latency_comprehensiveness": biased[1],
            "confidence_biased_harmonic_mean": 2 / (1 / biased[0] + 1 / biased[1]),
            "confidence_biased_expected_verbosity": 56 / 99,
            "confidence_biased_expected_latency": 3 / 22,
        }
    )


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (0, 2, []),
        (3, 8, [0, 1]),
        (4, 4, [0]),
        (9, 14, [2, 3]),
        (0, 14, [0, 1, 2, 3]),
        (12, 99, [3]),
        (50, 60, [3]),
    ],
)
def test_a_match_marks_words_from_space_to_space(start, end, words):
    assert list(marked_word_indexes(b"aa bb cc dd ee", start, end)) == words


def test_a_space_at_the_start_of_a_text_counts():
    assert list(marked_word_indexes(b" aa bb", 1, 3)) == [0]
    assert list(marked_word_indexes(b" aa bb", 0, 0)) == []


def test_offsets_are_bytes():
    """The span ends within `cc` in bytes, but at its space in characters."""
    text = "\u00e9\u00e9 bb cc dd ee"
    pool = {"d-1": PooledUpdate(text, None, [NuggetMatch("n1", 0, 9)])}
    assert list(marked_word_indexes(text.encode(), 0, 9)) == [0, 1]
    assert scores([PushedUpdate("d-1", 0)], pool)["expected_verbosity"] == exactly(1 + 3 / 3)


def test_words_are_counted_by_spaces():
    pool = {"d-1": PooledUpdate("aa  bb ")}
    assert scores([PushedUpdate("d-1", 0)], pool)["expected_verbosity"] == exactly(1 + 4 / 3)


def test_the_first_match_of_a_nugget_marks_words():
    pool = {
        "d-1": PooledUpdate(
            "aa bb cc dd", None, [NuggetMatch("n1", 3, 5), NuggetMatch("n1", 6, 11)]
        )
    }
    assert scores([PushedUpdate("d-1", 0)], pool)["expected_verbosity"] == exactly(1 + 3 / 3)


def test_a_nugget_counts_once_and_earliest_first():
    twice = scores([PushedUpdate("d-1", 9_000_000), PushedUpdate("e-1", HOURS_6)])
    assert twice["comprehensiveness"] == exactly(1)
    assert twice["expected_latency"] == exactly(1.5 / 2)
    assert twice["expected_verbosity"] == exactly(1 + (1 + 5) / 3 / 2)
    assert twice["confidence_biased_comprehensiveness"] == exactly(1 / 3)


def test_of_updates_at_one_time_the_first_in_the_file_matches():
    same_time = scores([PushedUpdate("d-1", 0), PushedUpdate("e-1", 0)])
    assert same_time["confidence_biased_comprehensiveness"] == exactly(2 / 3)


def test_nuggets_without_importance_and_unknown_ones_gain_nothing():
    alone = scores([PushedUpdate("d-3", 0)])
    assert alone["expected_verbosity"] == exactly(1 + 3 / 3)
    assert [alone[name] for name in COLUMNS if "verbosity" not in name] == [0.0] * 16


def test_updates_that_are_not_pooled():
    assert scores([PushedUpdate("z-1", 0)])["expected_verbosity"] == exactly(1 + 1 / 3)
    ignored = scores(PUSHED, unpooled="ignored")
    assert ignored["updates"] == 2
    assert ignored["expected_gain"] == exactly((1 + LOW) / (10 / 3))
    assert ignored["confidence_biased_comprehensiveness"] == exactly(1 / 3)
    nothing = scores([PushedUpdate("z-1", 0)], unpooled="ignored")
    assert nothing == dict.fromkeys(("updates", *COLUMNS), 0)


def test_binary_relevance_and_latency_step():
    binary = scores(PUSHED, relevance="binary", latency_step=math.inf)
    assert binary["expected_gain"] == exactly(2 / (14 / 3))
    assert binary["latency_comprehensiveness"] == exactly(1)


def test_the_ideal_has_the_best_nuggets():
    assert ideal_gain([LOW, 1.0, LOW], 1) == 1.0
    assert ideal_gain([LOW, 1.0, LOW], 2) == exactly((1 + LOW) / 2)
    assert ideal_gain([LOW, 1.0, LOW], 9) == exactly((1 + 2 * LOW) / 3)
    assert ideal_gain([LOW, 1.0, LOW], 0) == exactly((1 + 2 * LOW) / 3)


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (2, 3, []),
        (0, 3, [0]),
        (2, 4, [1]),
        (5, 7, [1]),
        (6, 8, [2]),
        (0, 99, [0, 1, 2]),
        (4, 4, [1]),
    ],
)
def test_words_match_that_overlap_the_span(start, end, words):
    """The words are the characters [0, 2), [3, 6) and [7, 8)."""
    update = PooledUpdate("ab cde f", None, [NuggetMatch("n", start, end)])
    assert matching_word_indexes(update) == {"n": frozenset(words)}


def test_systems_as_good_are_ordered_by_name():
    events = {"1": Event(NUGGETS, POOL), "2": Event(NUGGETS, POOL)}
    systems = {
        name: {event: [PushedUpdate(update, 0)] for event, update in pushed.items()}
        for name, pushed in {
            "c": {"1": "d-1"},
            "b": {"1": "d-1", "2": "d-2"},
            "a": {"1": "d-1"},
        }.items()
    }
    scored = official_event_scores(events, systems, SummarizationParameters())
    assert scored.select("system", "event").rows() == [
        *(("a", "1"), ("b", "1"), ("b", "2"), ("c", "1"))
    ]
    means = official_means(scored)
    assert means.select("system", "events", "updates", "comprehensiveness").rows() == [
        *(("a", 1, 1.0, 1.0), ("c", 1, 1.0, 1.0), ("b", 2, 1.0, 0.5))
    ]
    assert means["harmonic_mean"][2] == exactly(means["harmonic_mean"][0] / 2)


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_the_same_from_files_in_the_official_formats(tmp_path):
    """Lengths are in characters, ids have the prefix of the year, one run number has none."""
    nuggets = write(
        tmp_path / "nuggets.tsv",
        "query_id\tnugget_id\ttimestamp\timportance\tnugget_len\tnugget_text",
        *(
            f"TS14.1\t{name}\t{n.time}\t{n.importance}\t{len(n.text)}\t{n.text}"
            for name, n in NUGGETS.items()
        ),
        "TS14.2\tm1\t0\t2\t3\tone",
        "TS14.3\tm1\t0\t0\t3\tone",
        "TS14.4\tm1\t0\t2\t3\tone",
    )
    updates = write(
        tmp_path / "updates.tsv",
        "query_id\tupdate_id\tdoc_id\tsentence_id\tupdate_len\tduplicate_id\tupdate_text",
        *(
            f"TS14.1\t{name}\td\t1\t{len(u.text)}\t{u.original or 'NULL'}\t{u.text}"
            for name, u in POOL.items()
        ),
        "TS14.2\td-1\td\t1\t2\tNULL\tab",
        "TS14.3\td-1\td\t1\t2\tNULL\tab",
    )
    matches = write(
        tmp_path / "matches.tsv",
        "query_id\tupdate_id\tnugget_id\tmatch_start\tmatch_end\tauto_p",
        *(
            f"TS14.1\t{name}\t{m.nugget}\t{m.start}\t{m.end}\t0"
            for name, update in POOL.items()
            for m in update.matches
        ),
        "TS14.2\td-1\tm1\t0\t2\t0",
    )
    run = write(
        tmp_path / "run.txt",
        *(f"TS14.1 team a {p.update_id.replace('-', ' ')} {p.time} 0.5" for p in PUSHED),
        *(f"{event} team a d 1 0 inf" for event in (2, 3, 4)),
        "1 team b d 2 0 1",
    )
    report = evaluate_summaries(nuggets, updates, matches, [run])
    first, second, other = report.official.rows(named=True)
    assert {k: first[k] for k in ("updates", *COLUMNS)} == exactly(scores(PUSHED))
    assert (second["system"], second["event"]) == ("team-a", "2")
    assert second["expected_gain"] == exactly(math.exp(-1) / 2)
    assert second["normalized_expected_gain"] == exactly(1 / 2)
    assert (other["system"], other["harmonic_mean"]) == ("team-b", 0.0)
    best, worst = report.official_means.rows(named=True)
    assert (best["system"], best["events"], best["updates"]) == ("team-a", 2, 2.0)
    assert best["comprehensiveness"] == exactly((1 + 1) / 2)
    assert (worst["system"], worst["events"]) == ("team-b", 1)
