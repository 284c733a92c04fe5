"""From judgements and runs to tables: published numbers, counts, reasons, determinism."""

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from repro_eval.Evaluator import RplEvaluator

from builder.errors import DataError, FormatError, MissingExtraError, UsageError
from builder.evaluation.evaluator import Evaluation, evaluate, evaluate_paths
from builder.evaluation.measures.effectiveness import SnapshotScores
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.reports.summary import missing_interval_notes, summary_rows, to_json
from builder.trec.runs import write_run

KELLER = json.loads((Path(__file__).parent / "fixtures" / "keller2024_p10.json").read_text())
NAMES = {"WT": "2022-06", "ST": "2022-07", "LT": "2022-09"}
QUICK_ALONE = EvaluationParameters(("P@1", "AP"), resamples=200)
QUICK = EvaluationParameters(("P@1", "AP"), pivot="bm25", resamples=200)


def keller_world(make_qrels, make_run):
    """Ten relevant documents per topic, and runs that find as many as the paper's systems did."""
    qrels, runs = {}, {system: {} for system in KELLER["hits"]}
    for time, topics in KELLER["topics"].items():
        queries = [f"q{i:03}" for i in range(topics)]
        qrels[NAMES[time]] = make_qrels([(q, f"r{d}", 1) for q in queries for d in range(10)])
        for system, hits in KELLER["hits"].items():
            share = [hits[time] // topics + (i < hits[time] % topics) for i in range(topics)]
            rankings = {
                q: [f"r{d}" for d in range(found)] + [f"x{d}" for d in range(10 - found)]
                for q, found in zip(queries, share, strict=True)
            }
            runs[system][NAMES[time]] = make_run(rankings, system)
    return qrels, runs


def test_table_1_of_keller_end_to_end(make_qrels, make_run) -> None:
    qrels, runs = keller_world(make_qrels, make_run)
    evaluation = evaluate(qrels, runs, EvaluationParameters(("P@10",), "BM25", resamples=0))
    rows = {(row["system"], row["snapshot"]): row for row in summary_rows(evaluation)}
    columns = ("mean", "re_delta_drop", "delta_ri", "effect_ratio")
    checked = 0
    for system, printed in KELLER["printed"].items():
        for time, values in printed.items():
            row = rows[system, NAMES[time]]
            assert row["queries"] == KELLER["topics"][time]
            assert [round(row[name], 3) for name in columns[: len(values)]] == values
            checked += len(values)
    assert checked == 50


def small(make_qrels, make_run):
    """Two snapshots that share q1 and q2; `mono` lacks q3 and finds an unjudged query."""
    qrels = {
        "2022-06": make_qrels([("q1", "a", 1), ("q2", "a", 1), ("q3", "a", 1)]),
        "2022-07": make_qrels([("q1", "a", 1), ("q2", "a", 1), ("q4", "b", 0)]),
    }
    runs = {
        "bm25": {
            "2022-06": make_run({"q1": ["a", "b"], "q2": ["b", "a"], "q3": ["b", "a"]}),
            "2022-07": make_run({"q1": ["a"], "q2": ["b", "a"], "q4": ["b"]}),
        },
        "mono": {
            "2022-06": make_run({"q1": ["a"], "q2": ["a"], "q9": ["a"]}),
            "2022-07": make_run({"q1": ["a"], "q2": ["b", "c", "d", "a"]}),
        },
    }
    return qrels, runs


def pick(table: pl.DataFrame, **where: str) -> dict[str, object]:
    return table.filter(**where).row(0, named=True)


def test_means_are_over_all_judged_queries(make_qrels, make_run) -> None:
    table = evaluate(*small(make_qrels, make_run), QUICK).effectiveness
    mono = pick(table, topic_set="full", snapshot="2022-06", system="mono", measure="P@1")
    assert mono["value"] == pytest.approx(2 / 3)
    counts = ("queries", "missing", "unjudged", "irrelevant", "reason")
    assert [mono[name] for name in counts] == [3, 1, 1, 0, None]
    later = pick(table, topic_set="full", snapshot="2022-07", system="bm25", measure="AP")
    assert later["value"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert [later[name] for name in counts] == [3, 0, 0, 1, None]
    core = pick(table, topic_set="core", snapshot="2022-06", system="mono", measure="P@1")
    assert core["value"] == 1
    assert [core[name] for name in counts] == [2, 0, 1, 0, None]


def test_persistence_by_hand(make_qrels, make_run) -> None:
    table = evaluate(*small(make_qrels, make_run), QUICK).persistence
    rows = table.filter(topic_set="core", system="mono", measure="AP")
    found = dict(rows.select("quantity", "value").rows())
    # mono: 1 -> (1 + 1/4)/2; bm25: (1 + 1/2)/2 -> (1 + 1/2)/2
    assert found == pytest.approx(
        {
            "arp_from": 1,
            "arp_to": 0.625,
            "rnd_absolute_drop": 0.375,
            "rnd_relative_drop": 0.375,
            "re_delta_drop": 0.375,
            "ri_from": 1 / 3,
            "ri_to": -1 / 6,
            "delta_ri": 0.5,
            "effect_ratio": -0.5,
            "p_unpaired": 0.42264973081037427,
            "p_welch": 0.5,  # t = .375 / .375 = 1 with one degree of freedom
        }
    )
    full = table.filter(topic_set="full", system="bm25", measure="AP", quantity="effect_ratio")
    assert full.row(0, named=True)["reason"] == "the system is the pivot"


def test_per_query_tables(make_qrels, make_run) -> None:
    evaluation = evaluate(*small(make_qrels, make_run), QUICK)
    scores = evaluation.query_scores.filter(measure="AP", system="mono")
    assert scores.drop("measure", "system").rows() == [
        ("2022-06", "q1", True, 1.0, 0.0),
        ("2022-06", "q2", True, 1.0, 0.5),
        ("2022-06", "q3", False, 0.0, -0.5),
        ("2022-07", "q1", True, 1.0, 0.0),
        ("2022-07", "q2", True, 0.25, -0.25),
        ("2022-07", "q4", False, 0.0, 0.0),
    ]
    drops = evaluation.query_drops.filter(measure="AP", system="mono")
    assert drops.select("query_id", "drop").rows() == [("q1", 0.0), ("q2", 0.75)]


def test_significance_against_the_pivot(make_qrels, make_run) -> None:
    qrels, runs = small(make_qrels, make_run)
    runs["same"] = runs["bm25"]
    table = evaluate(qrels, runs, QUICK).significance
    row = pick(table, topic_set="full", snapshot="2022-06", system="mono", measure="AP")
    # differences 0, 1/2, -1/2: no effect, one test in the family
    assert row["value"] == pytest.approx(0)
    assert (row["t"], row["p"], row["p_holm"]) == pytest.approx((0, 1, 1))
    same = pick(table, system="same", topic_set="full", measure="AP")
    assert (same["p"], same["p_holm"]) == (None, None)
    assert same["reason"] == "the differences have no variance"
    two = pick(table, system="same", topic_set="core", measure="AP")
    assert (two["value"], two["p"], two["reason"]) == (0, None, "the differences have no variance")
    assert "bm25" not in set(table["system"])


def test_a_system_may_lack_a_snapshot(make_qrels, make_run) -> None:
    qrels, runs = small(make_qrels, make_run)
    del runs["mono"]["2022-07"]
    evaluation = evaluate(qrels, runs, QUICK)
    assert evaluation.effectiveness.filter(system="mono", snapshot="2022-07").is_empty()
    assert evaluation.query_scores.filter(system="mono", snapshot="2022-07").is_empty()
    assert evaluation.query_drops.filter(system="mono").is_empty()
    rows = evaluation.persistence.filter(topic_set="full", system="mono", measure="AP")
    told = {row["quantity"]: row["reason"] for row in rows.iter_rows(named=True)}
    assert told["arp_from"] is None
    assert told["re_delta_drop"] == "no mean score of the system in the second snapshot"
    assert told["p_unpaired"] == "no run for one of the snapshots"
    agreement = evaluation.agreement
    assert set(agreement["reason"]) == {"fewer than two systems have runs for both snapshots"}
    assert set(agreement["systems"]) == {1}
    rows = agreement.filter(topic_set="core").drop("topic_set").rows()
    assert rows == [
        ("2022-06", "2022-07", measure, 1, quantity, None, None, None, None,
         "fewer than two systems have runs for both snapshots", "the value is undefined")
        for measure in ("P@1", "AP")
        for quantity in ("kendall_tau_b", "rbo_ext")
    ]  # fmt: skip


def test_systems_after_one_without_a_run_are_evaluated(make_qrels, make_run) -> None:
    """`a` has a run for August alone, `b` and the pivot `c` for all months."""
    months = ("2022-06", "2022-07", "2022-08")
    qrels = dict.fromkeys(months, make_qrels([("q1", "a", 1), ("q2", "a", 1)]))
    every = dict.fromkeys(months, make_run({"q1": ["a"], "q2": ["b"]}))
    runs = {"a": {"2022-08": every["2022-08"]}, "b": every, "c": every}
    parameters = EvaluationParameters(("P@1",), "c", pairs="consecutive", resamples=0)
    full = {
        name: table.filter(topic_set="full")
        for name, table in tables(evaluate(qrels, runs, parameters)).items()
        if "topic_set" in table.columns
    }
    present = [(month, system) for month in months for system in "abc"]
    assert full["effectiveness"].select("snapshot", "system").rows() == present[1:3] + present[4:]
    assert full["significance"].select("snapshot", "system").rows() == [
        ("2022-06", "b"), ("2022-07", "b"), ("2022-08", "a"), ("2022-08", "b")
    ]  # fmt: skip
    pairs = full["persistence"].filter(quantity="arp_to").select("to_snapshot", "system", "value")
    assert pairs.rows() == [
        ("2022-07", "b", 0.5), ("2022-07", "c", 0.5),
        ("2022-08", "a", 0.5), ("2022-08", "b", 0.5), ("2022-08", "c", 0.5),
    ]  # fmt: skip
    del runs["c"]["2022-06"]
    runs["b"] = dict.fromkeys(months, every["2022-08"])
    later = evaluate(qrels, runs, parameters).significance.filter(topic_set="full")
    assert later.select("snapshot", "system").rows() == [
        ("2022-07", "b"), ("2022-08", "a"), ("2022-08", "b")
    ]  # fmt: skip


def tables(evaluation: Evaluation) -> dict[str, pl.DataFrame]:
    names = (
        "effectiveness",
        "significance",
        "persistence",
        "agreement",
        "query_scores",
        "query_drops",
    )
    return {name: getattr(evaluation, name) for name in names}


def degenerate_worlds(make_qrels, make_run):
    qrels = {
        "one topic": make_qrels([("q1", "a", 1)]),
        "constant": make_qrels([(f"q{i}", "a", 1) for i in range(4)]),
        "nothing relevant": make_qrels([("q1", "a", 0), ("q2", "b", 0)]),
        "empty truth": make_qrels([]),
        "usual": make_qrels([("q1", "a", 1), ("q1", "b", 2), ("q2", "c", 1), ("q5", "a", 1)]),
    }
    runs = {
        "usual": make_run({"q1": ["b", "a"], "q2": ["a", "c"], "q3": ["a"]}),
        "perfect": make_run({f"q{i}": ["a"] for i in range(4)}),
        "empty": make_run({}),
        "useless": make_run({"q1": ["z"], "q2": ["y"]}),
    }
    return qrels, runs


@pytest.mark.parametrize("pivot", ["usual", "perfect", "empty", "useless", None])
@pytest.mark.parametrize("pairs", ["first", "consecutive", "all"])
def test_degenerate_inputs_give_a_value_or_null_and_a_reason(
    make_qrels, make_run, pivot, pairs
) -> None:
    qrels, runs = degenerate_worlds(make_qrels, make_run)
    everywhere = {system: dict.fromkeys(qrels, run) for system, run in runs.items()}
    measures = ("nDCG", "P@10", "AP", "bpref", "RR", "ERR@20", "R@5", "Judged@10")
    with np.errstate(all="raise"):
        evaluation = evaluate(
            qrels, everywhere, EvaluationParameters(measures, pivot, pairs=pairs, resamples=50)
        )
    for name, table in tables(evaluation).items():
        for column in table.select(pl.selectors.float()).get_columns():
            assert column.is_nan().sum() == 0, (name, column.name)
            assert column.is_infinite().sum() == 0, (name, column.name)
        if "ci_reason" in table.columns:
            assert table.filter(
                pl.col("ci_low").is_null() != pl.col("ci_reason").is_not_null()
            ).is_empty()
        if "reason" in table.columns and name != "significance":
            assert table.filter(
                pl.col("value").is_null() != pl.col("reason").is_not_null()
            ).is_empty()
            assert table.filter(
                pl.col("value").is_null() & pl.col("ci_low").is_not_null()
            ).is_empty()
        if name == "significance":
            assert table.filter(pl.col("p").is_null() != pl.col("reason").is_not_null()).is_empty()
    json.dumps(to_json(evaluation, include_queries=True), allow_nan=False)
    undefined = set(evaluation.persistence["reason"].drop_nulls())
    assert "undefined" not in undefined


def test_intervals_contain_the_value_and_depend_on_the_seed_alone(make_qrels, make_run) -> None:
    qrels, runs = keller_world(make_qrels, make_run)
    qrels = {"2022-06": qrels["2022-06"], "2022-09": qrels["2022-09"]}
    runs = {s: {t: runs[s][t] for t in qrels} for s in ("BM25", "monoT5")}
    parameters = EvaluationParameters(("P@10",), "BM25", resamples=300, seed=5)
    evaluation = evaluate(qrels, runs, parameters)
    again = evaluate(dict(reversed(qrels.items())), dict(reversed(runs.items())), parameters)
    for name, table in tables(evaluation).items():
        assert_frame_equal(table, tables(again)[name], check_exact=True)
    inside = evaluation.persistence.drop_nulls("ci_low")
    assert inside.height == 2 * (5 + 9)
    assert inside.select(pl.col("value").is_between("ci_low", "ci_high").all()).item()
    other = evaluate(qrels, runs, replace(parameters, seed=6))
    assert not other.effectiveness["ci_low"].equals(evaluation.effectiveness["ci_low"])
    assert other.effectiveness["value"].equals(evaluation.effectiveness["value"])


def test_intervals_that_are_missing_have_a_reason(make_qrels, make_run) -> None:
    qrels = {"2022-06": make_qrels([("q1", "a", 1)]), "2022-07": make_qrels([("q1", "a", 1)])}
    runs = {"s": {name: make_run({"q1": ["a"]}) for name in qrels}}

    def reasons(resamples: int = 100, topic_set: str = "full") -> list[str | None]:
        parameters = EvaluationParameters(("AP",), resamples=resamples)
        table = evaluate(qrels, runs, parameters).effectiveness
        return table.filter(topic_set=topic_set)["ci_reason"].to_list()

    assert reasons() == ["the bootstrap needs at least two judged queries"] * 2
    assert reasons(resamples=0) == ["no resamples were requested"] * 2
    qrels["2022-07"] = make_qrels([("q1", "a", 1), ("q2", "a", 1)])
    assert reasons() == ["the value is defined in only 75 of 100 resamples", None]
    qrels["2022-06"] = make_qrels([])
    del runs["s"]["2022-06"]
    assert reasons() == [None]
    assert reasons(topic_set="core") == ["the value is undefined"]


def hit_world(make_qrels, make_run, hits: dict[str, dict[str, int]], queries: int = 4):
    """Judgements of one document per query, which a system finds for its first few queries."""
    months = sorted({month for of in hits.values() for month in of})
    names = [f"q{number}" for number in range(queries)]
    qrels = {month: make_qrels([(query, "a", 1) for query in names]) for month in months}
    runs = {
        system: {
            month: make_run({q: ["a" if n < found else "b"] for n, q in enumerate(names)})
            for month, found in of.items()
        }
        for system, of in hits.items()
    }
    return qrels, runs


def test_intervals_by_hand(make_qrels, make_run) -> None:
    """With the seed 7, q0 is drawn 1, 1 and 0 times of 5; of the core 0, 0 and 1 times.

    Its P@1 is 1, others have 0: the means are 0.2, 0.2, 0 and 0, 0, 0.2. The bounds lie at 1/40 and
    39/40, or at 1/4 and 3/4, of the way from the smallest to the largest mean.
    """
    qrels, runs = hit_world(make_qrels, make_run, {"s": {"2022-06": 1}}, queries=5)
    for confidence, full, core in ((0.95, (0.01, 0.2), (0, 0.19)), (0.5, (0.1, 0.2), (0, 0.1))):
        parameters = EvaluationParameters(("P@1",), resamples=3, seed=7, confidence=confidence)
        table = evaluate(qrels, runs, parameters).effectiveness
        bounds = table.select("topic_set", "value", "ci_low", "ci_high", "resamples").rows()
        assert bounds == [
            ("full", 0.2, *map(pytest.approx, full), 3),
            ("core", 0.2, *map(pytest.approx, core), 3),
        ]
    with_pivot = replace(parameters, pivot="s")
    runs["t"] = {"2022-06": make_run({})}
    (row, _) = evaluate(qrels, runs, with_pivot).significance.rows(named=True)
    assert (row["value"], row["ci_low"], row["ci_high"]) == pytest.approx((-0.2, -0.2, -0.1))
    assert (row["system"], row["pivot"], row["resamples"]) == ("t", "s", 3)


def test_agreement_by_hand(make_qrels, make_run) -> None:
    """Rankings c, b, a and b, c, a: of three pairs, one is swapped; agreements 0, 1, 1 at depth d.

    In August all are equal. Each then has rank 1, so that the agreements with July are 2 / 4, 4 / 5
    and 1. `d` has no run for June.
    """
    hits = {
        "a": {"2022-06": 1, "2022-07": 1, "2022-08": 2},
        "b": {"2022-06": 2, "2022-07": 3, "2022-08": 2},
        "c": {"2022-06": 3, "2022-07": 2, "2022-08": 2},
        "d": {"2022-07": 4, "2022-08": 2},
    }
    qrels, runs = hit_world(make_qrels, make_run, hits)
    parameters = EvaluationParameters(("P@1",), pairs="consecutive", resamples=0, rbo_p=0.5)
    table = evaluate(qrels, runs, parameters).agreement
    undefined = (None, None, None, 0, "all systems are tied in one snapshot")
    none = "no resamples were requested"
    # d b c a in July: agreements 2 / 5, 4 / 6, 6 / 7 and 1
    august = 0.4 / 2 + (2 / 3) / 4 + (6 / 7) / 8 + 1 / 16 + 1 / 16
    expected = [
        ("2022-06", "2022-07", "P@1", 3, "kendall_tau_b", 1 / 3, None, None, 0, None, none),
        (
            "2022-06",
            "2022-07",
            "P@1",
            3,
            "rbo_ext",
            1 / 4 + 1 / 8 + 1 / 8,
            None,
            None,
            0,
            None,
            none,
        ),
        ("2022-07", "2022-08", "P@1", 4, "kendall_tau_b", *undefined, "the value is undefined"),
        ("2022-07", "2022-08", "P@1", 4, "rbo_ext", august, None, None, 0, None, none),
    ]
    for topic_set in ("full", "core"):
        found = table.filter(topic_set=topic_set).drop("topic_set").rows()
        assert [row[:5] + row[6:] for row in found] == [row[:5] + row[6:] for row in expected]
        assert [row[5] for row in found] == pytest.approx([row[5] for row in expected])
    qrels["2022-08"] = qrels["2022-08"].clear()
    table = evaluate(qrels, runs, parameters).agreement.filter(to_snapshot="2022-08")
    assert set(table["reason"]) == {"no judged queries"}


def test_reasons_for_undefined_tests_against_the_pivot(make_qrels, make_run) -> None:
    qrels = {"2022-06": make_qrels([("q1", "a", 1)]), "2022-07": make_qrels([])}
    runs = {
        "bm25": dict.fromkeys(qrels, make_run({"q1": ["a"]})),
        "none": {"2022-07": make_run({"q1": ["a"]})},
        "s": dict.fromkeys(qrels, make_run({"q1": ["b", "a"]})),
    }
    evaluation = evaluate(qrels, runs, EvaluationParameters(("RR",), "bm25", resamples=0))
    full = evaluation.significance.filter(topic_set="full")
    columns = ("snapshot", "system", "value", "t", "p", "p_holm", "reason", "ci_reason")
    few, none = "the test needs at least two queries", "no judged queries"
    assert full.select(columns).rows() == [
        ("2022-06", "s", -0.5, None, None, None, few, "no resamples were requested"),
        ("2022-07", "none", None, None, None, None, none, "the value is undefined"),
        ("2022-07", "s", None, None, None, None, none, "the value is undefined"),
    ]
    effectiveness = evaluation.effectiveness.filter(snapshot="2022-07", topic_set="full")
    assert effectiveness.select("system", "queries", "value", "reason").rows() == [
        (system, 0, None, "no judged queries") for system in ("bm25", "none", "s")
    ]
    undefined = evaluation.persistence.filter(topic_set="full", system="none")
    assert dict(undefined.select("quantity", "reason").rows()) == {
        "arp_from": "no mean score of the system in the first snapshot",
        "arp_to": "no mean score of the system in the second snapshot",
        **dict.fromkeys(
            ("rnd_absolute_drop", "rnd_relative_drop", "re_delta_drop", "ri_from", "delta_ri"),
            "no mean score of the system in the first snapshot",
        ),
        "ri_to": "no mean score of the system in the second snapshot",
        "effect_ratio": "no mean score of the system in the first snapshot",
        **dict.fromkeys(("p_unpaired", "p_welch"), "no run for one of the snapshots"),
    }
    assert set(undefined.filter(pl.col("quantity").str.starts_with("p_"))["ci_reason"]) == {
        "p-values have no interval"
    }


def test_p_values_are_corrected_over_all_systems(make_qrels, make_run) -> None:
    """Differences of s are 1, 1, 1, 0 (t = 3), of t 1, 0, 0, 0 (t = 1), with three degrees."""
    hits = {"pivot": {"2022-06": 0}, "s": {"2022-06": 3}, "t": {"2022-06": 1}}
    qrels, runs = hit_world(make_qrels, make_run, hits)
    table = evaluate(qrels, runs, EvaluationParameters(("P@1",), "pivot", resamples=0)).significance
    found = table.filter(topic_set="full").select("system", "value", "t", "p", "p_holm").rows()
    p_s, p_t = 0.0576688856, 0.3910022190
    assert found == [
        ("s", 0.75, pytest.approx(3), pytest.approx(p_s), pytest.approx(2 * p_s)),
        ("t", 0.25, pytest.approx(1), pytest.approx(p_t), pytest.approx(p_t)),
    ]


def test_missing_intervals_are_noted_once_per_reason(make_qrels, make_run) -> None:
    qrels = {f"2022-0{n}": make_qrels([("q1", "a", 1)]) for n in range(1, 6)}
    runs = {"s": {name: make_run({"q1": ["a"]}) for name in qrels}}
    first = {"2022-01": qrels["2022-01"]}
    some = evaluate(first, {"s": {"2022-01": runs["s"]["2022-01"]}}, QUICK_ALONE)
    assert missing_interval_notes(some) == [
        "no confidence interval for s 2022-01: the bootstrap needs at least two judged queries"
    ]
    assert missing_interval_notes(evaluate(qrels, runs, QUICK_ALONE)) == [
        "no confidence interval for 5 runs: the bootstrap needs at least two judged queries"
    ]


def test_queries_of_releases_are_drawn_jointly_although_their_ids_differ(
    tmp_path: Path, make_run
) -> None:
    """The scores of both snapshots are equal, so that no resample has a drop."""
    for name, prefix in (("2022-06", "q06"), ("2022-07", "q07")):
        folder = tmp_path / "c" / "snapshots" / name
        folder.mkdir(parents=True)
        ids = [f"{prefix}{n}" for n in range(4)]
        grades = pl.DataFrame(
            {"query_id": ids, "doc_id": ["a"] * 4, "grade": [1, 1, 0, 0]},
            schema_overrides={"grade": pl.UInt8},
        )
        grades.write_parquet(folder / "qrels.parquet")
        keys = [f"k{n}" for n in range(4)]
        pl.DataFrame({"kind": ["query"] * 4, "id": ids, "key": keys}).write_parquet(
            folder / "release_ids.parquet"
        )
        write_run(make_run({query: ["a"] for query in ids}), tmp_path / "runs" / f"s_{name}.txt")
    qrels = {p.parent.name: p for p in (tmp_path / "c").rglob("qrels.parquet")}
    evaluation = evaluate_paths(qrels, [tmp_path / "runs"], EvaluationParameters(("AP",)))
    drop = pick(evaluation.persistence, topic_set="full", quantity="rnd_absolute_drop")
    assert (drop["value"], drop["ci_low"], drop["ci_high"]) == (0, 0, 0)


def test_queries_of_releases_are_compared_by_their_keys(tmp_path: Path, make_run) -> None:
    """June's a and b are July's d and c; e is new. Found: a, c and e."""
    keys = {"2022-06": {"a": "k1", "b": "k2"}, "2022-07": {"c": "k2", "d": "k1", "e": "e"}}
    runs = {"2022-06": {"a": ["x"], "b": ["y"]}, "2022-07": {q: ["x"] for q in "ce"}}
    qrels = {}
    for name, by_id in keys.items():
        folder = tmp_path / "c" / "snapshots" / name
        folder.mkdir(parents=True)
        qrels[name] = folder / "qrels.parquet"
        ids = list(by_id)
        judged = pl.DataFrame({"query_id": ids, "doc_id": ["x"] * len(ids), "grade": 1})
        judged.write_parquet(qrels[name])
        aligned = pl.DataFrame({"kind": "query", "id": ids, "key": list(by_id.values())})
        aligned.filter(pl.col("id") != "e").write_parquet(folder / "release_ids.parquet")
        write_run(make_run(runs[name]), tmp_path / "runs" / f"s_{name}.txt")
    found = evaluate_paths(qrels, [tmp_path / "runs"], EvaluationParameters(("P@1",), resamples=0))
    assert found.query_drops.select("query_id", "drop").rows() == [("a", 1.0), ("b", -1.0)]
    scores = found.query_scores.select("snapshot", "query_id", "core", "score", "over_pivot")
    assert scores.rows() == [
        ("2022-06", "a", True, 1.0, None),
        ("2022-06", "b", True, 0.0, None),
        ("2022-07", "c", True, 1.0, None),
        ("2022-07", "d", True, 0.0, None),
        ("2022-07", "e", False, 1.0, None),
    ]
    counts = found.effectiveness.select("topic_set", "snapshot", "queries", "missing", "value")
    assert counts.rows() == [
        ("full", "2022-06", 2, 0, 0.5),
        ("full", "2022-07", 3, 1, pytest.approx(2 / 3)),
        ("core", "2022-06", 2, 0, 0.5),
        ("core", "2022-07", 2, 1, 0.5),
    ]


def test_selected_queries_are_in_the_order_of_their_keys() -> None:
    scores = SnapshotScores(
        "2022-06",
        ("a", "b", "c"),
        np.array([[[0.1]], [[0.2]], [[0.3]]]),
        np.array([[True], [False], [False]]),
        (7,),
        np.array([False, False, True]),
        ("k3", "k2", "k1"),
    )
    found = scores.select_queries(["k1", "k3", "k9"])
    assert (found.snapshot, found.query_ids, found.keys) == ("2022-06", ("c", "a"), ("k1", "k3"))
    assert found.values.tolist() == [[[0.3]], [[0.1]]]
    assert (found.missing.tolist(), found.irrelevant.tolist()) == (
        [[False], [True]], [True, False]
    )  # fmt: skip
    assert (found.unjudged, found.means().tolist()) == ((7,), [[pytest.approx(0.2)]])
    none = scores.select_queries([])
    assert (none.query_ids, np.isnan(none.means()).tolist()) == ((), [[True]])


def test_differences_by_rounding_are_no_drops(make_qrels, make_run) -> None:
    """Average precisions of 0.7 and 0.7000000000000001."""
    qrels = {
        "2022-06": make_qrels([("q", "a", 1), ("q", "e", 1)]),
        "2022-07": make_qrels([("q", "a", 1), ("q", "d", 1), ("q", "e", 1)]),
    }
    runs = {"s": {name: make_run({"q": list("abcde")}) for name in qrels}}
    drops = evaluate(qrels, runs, EvaluationParameters(("AP",), resamples=0)).query_drops
    assert drops["drop"].to_list() == [0.0]


def test_pairs_of_snapshots() -> None:
    def pairs(kind: str) -> list[tuple[int, int]]:
        return EvaluationParameters(pairs=kind).snapshot_pairs(3)  # type: ignore[arg-type]

    assert pairs("first") == [(0, 1), (0, 2)]
    assert pairs("consecutive") == [(0, 1), (1, 2)]
    assert pairs("all") == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"depth": 0},
        {"pairs": "none"},
        {"resamples": -1},
        {"confidence": 1.0},
        {"seed": -1},
        {"rbo_p": 0.0},
        {"measures": ("XYZ",)},
        {"measures": ()},
    ],
)
def test_wrong_parameters(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"expected|unknown"):
        EvaluationParameters(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "accepted", "refused", "message"),
    [
        ("resamples", [0, 10**6], [-1, 10**6 + 1], "a number of resamples from 0 to 1000000"),
        ("confidence", [0.001, 0.999], [0.0, 1.0], "a confidence level between 0 and 1"),
        ("seed", [0, 2**64 - 1], [-1, 2**64], "a seed from 0 to 2^64 - 1"),
        ("rbo_p", [0.001, 0.999], [0.0, 1.0], "an RBO persistence between 0 and 1"),
        ("pairs", ["first", "all"], ["none"], "pairs to be one of first, consecutive, all"),
    ],
)
def test_bounds_of_parameters(
    name: str, accepted: list[object], refused: list[object], message: str
) -> None:
    for value in accepted:
        EvaluationParameters(**{name: value})  # type: ignore[arg-type]
    for value in refused:
        with pytest.raises(UsageError) as caught:
            EvaluationParameters(**{name: value})  # type: ignore[arg-type]
        assert str(caught.value) == f"expected {message}, found {value!r}"


def test_parameters_that_are_not_given() -> None:
    defaults = EvaluationParameters()
    assert (defaults.pivot, defaults.depth, defaults.pairs, defaults.splits) == (
        None,
        1000,
        "first",
        None,
    )
    assert (defaults.resamples, defaults.confidence, defaults.seed, defaults.rbo_p) == (
        1000,
        0.95,
        0,
        0.9,
    )


def test_wrong_use(make_qrels, make_run) -> None:
    qrels, runs = small(make_qrels, make_run)
    with pytest.raises(UsageError, match="at least one run"):
        evaluate(qrels, {})
    with pytest.raises(UsageError, match="expected one of the systems bm25, mono"):
        evaluate(qrels, runs, EvaluationParameters(pivot="bm26"))
    with pytest.raises(
        UsageError, match="unknown snapshot '2023-01'; expected one of 2022-06, 2022-07"
    ):
        evaluate(qrels, {"bm25": {"2023-01": runs["bm25"]["2022-06"]}})
    shallow = {"bm25": {"2022-06": make_run({"q1": ["a"]}, depth=10)}}
    with pytest.raises(UsageError, match="was truncated at depth 10"):
        evaluate(qrels, shallow)
    with pytest.raises(UsageError, match="largest cutoff"):
        evaluate(qrels, shallow, EvaluationParameters(("P@20",), depth=10))
    twice = {"2022-06": pl.concat([qrels["2022-06"]] * 2)}
    with pytest.raises(DataError, match="qrels of 2022-06: expected one grade"):
        evaluate(twice, {"bm25": {"2022-06": runs["bm25"]["2022-06"]}})


def test_a_missing_package_says_what_to_install(make_qrels, make_run, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pytrec_eval", None)
    with pytest.raises(MissingExtraError, match=r"longeval-builder\[evaluation\]"):
        evaluate(*small(make_qrels, make_run), QUICK)


def write_world(folder: Path, qrels, runs) -> dict[str, Path]:
    paths = {}
    for snapshot, judgements in qrels.items():
        paths[snapshot] = folder / "collection" / snapshot / "qrels.parquet"
        paths[snapshot].parent.mkdir(parents=True)
        judgements.write_parquet(paths[snapshot])
        queries = judgements.select(pl.col("query_id").unique().sort())
        split = pl.when(pl.col("query_id") == "q1").then(pl.lit("train")).otherwise(pl.lit("test"))
        queries.with_columns(split=split).write_parquet(
            paths[snapshot].with_name("queries.parquet")
        )
    for system, of in runs.items():
        for snapshot, run in of.items():
            write_run(run, folder / "runs" / system / f"{snapshot}.txt.gz")
    return paths


def test_files_give_what_frames_give(tmp_path: Path, make_qrels, make_run) -> None:
    qrels, runs = small(make_qrels, make_run)
    paths = write_world(tmp_path, qrels, runs)
    expected = tables(evaluate(qrels, runs, QUICK))
    by_folder = replace(QUICK, pivot=str(tmp_path / "runs" / "bm25"))
    by_file = replace(QUICK, pivot=str(tmp_path / "runs" / "bm25" / "2022-07.txt.gz"))
    for parameters in (QUICK, by_folder, by_file):
        found = evaluate_paths(paths, [tmp_path / "runs"], parameters)
        assert found.parameters.pivot == "bm25"
        for name, table in tables(found).items():
            assert_frame_equal(table, expected[name], check_exact=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_repro_eval_on_the_same_files_says_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    documents = [f"d{i}" for i in range(40)]
    for snapshot, topics in (("2022-06", 25), ("2022-07", 21)):
        qrels, runs = [], {"bm25": [], "mono": []}
        for query in (f"q{i}" for i in range(topics)):
            judged = rng.choice(documents, 12, replace=False)
            qrels += [f"{query} 0 {d} {g}" for d, g in zip(judged, rng.choice(3, 12), strict=True)]
            for lines in runs.values():
                found = rng.choice(documents, 30, replace=False)
                scores = -np.sort(-rng.integers(0, 20, 30) / 4)  # it trims in file order
                lines += [f"{query} Q0 {d} 0 {s} t" for d, s in zip(found, scores, strict=True)]
        (tmp_path / f"{snapshot}.qrels").write_text("\n".join(qrels))
        for system, lines in runs.items():
            (tmp_path / f"{system}_{snapshot}.txt").write_text("\n".join(lines))

    def path(name: str) -> str:
        return str(tmp_path / name)

    theirs = RplEvaluator(
        qrels_orig_path=path("2022-06.qrels"),
        qrels_rpl_path=path("2022-07.qrels"),
        run_b_orig_path=path("bm25_2022-06.txt"),
        run_a_orig_path=path("mono_2022-06.txt"),
        run_b_rep_path=path("bm25_2022-07.txt"),
        run_a_rep_path=path("mono_2022-07.txt"),
    )
    theirs.trim(20)
    theirs.evaluate()
    measures = ("nDCG", "nDCG@10", "P@10", "AP", "RR", "R@5", "Rprec")
    ours = evaluate_paths(
        {s: tmp_path / f"{s}.qrels" for s in ("2022-06", "2022-07")},
        sorted(tmp_path.glob("*.txt")),
        EvaluationParameters(measures, "bm25", depth=20, resamples=0),
    ).persistence.filter(topic_set="full", system="mono")
    values = {(m, q): v for m, q, v in ours.select("measure", "quantity", "value").rows()}
    kinds = {
        "effect_ratio": theirs.er(),
        "delta_ri": theirs.dri(),
        "p_unpaired": theirs.ttest()["advanced"],
    }
    for kind, expected in kinds.items():
        for measure in measures:
            assert values[measure, kind] == pytest.approx(expected[measure], abs=1e-9), measure


def test_splits(tmp_path: Path, make_qrels, make_run) -> None:
    qrels, runs = small(make_qrels, make_run)
    paths = write_world(tmp_path, qrels, runs)
    parameters = replace(QUICK, splits=("test",))
    found = evaluate_paths(paths, [tmp_path / "runs"], parameters)
    assert set(found.query_scores["query_id"]) == {"q2", "q3", "q4"}
    assert set(found.effectiveness["unjudged"]) == {1, 2}
    assert "|splits:test|" in found.signature()
    both = evaluate_paths(paths, [tmp_path / "runs"], replace(QUICK, splits=("test", "train")))
    assert "|splits:test+train|" in both.signature()
    assert both.effectiveness.equals(
        evaluate_paths(paths, [tmp_path / "runs"], QUICK).effectiveness
    )
    with pytest.raises(DataError) as caught:
        evaluate_paths(paths, [tmp_path / "runs"], replace(QUICK, splits=("dev", "heldout")))
    assert str(caught.value) == (
        "expected judged queries of the splits dev, heldout in at least one snapshot, found none"
    )
    with pytest.raises(UsageError, match="filter judgements in memory"):
        evaluate(qrels, runs, parameters)


def test_an_error_in_a_file_names_it(tmp_path: Path, make_qrels, make_run) -> None:
    qrels, runs = small(make_qrels, make_run)
    paths = write_world(tmp_path, qrels, runs)
    broken = tmp_path / "runs" / "mono" / "2022-07.txt.gz"
    broken.write_bytes(gzip.compress(b"q1 Q0 a 1 2.0 m\nq1 Q0 b 2 nan m\n"))
    with pytest.raises(FormatError, match=r"2022-07.txt.gz, line 2: expected a number as score"):
        evaluate_paths(paths, [tmp_path / "runs"], QUICK)


def test_the_signature_says_everything(make_qrels, make_run) -> None:
    signature = evaluate(*small(make_qrels, make_run), QUICK).signature()
    assert signature.startswith(
        "measures:P@1+AP|depth:1000|pivot:bm25|pairs:first|bootstrap:200@0.95|seed:0|rbo_p:0.9|"
    )
    assert "\n" not in signature


def test_progress_counts_runs(make_qrels, make_run) -> None:
    class Counter:
        seen: list[object]

        def __init__(self) -> None:
            self.seen = []

        def start(self, label: str, total: int | None, unit: str) -> None:
            self.seen.append((label, total, unit))

        def advance(self, count: int) -> None:
            self.seen.append(count)

        def finish(self) -> None:
            self.seen.append("end")

    counter = Counter()
    evaluate(*small(make_qrels, make_run), QUICK, progress=counter)
    assert counter.seen == [("evaluate", 4, "runs"), 1, 1, 1, 1, "end"]


def test_json_holds_every_table(make_qrels, make_run) -> None:
    evaluation = evaluate(*small(make_qrels, make_run), QUICK)
    data = to_json(evaluation)
    assert set(data) == {
        "signature", "parameters", "snapshots", "systems", "effectiveness", "significance",
        "persistence", "agreement",
    }  # fmt: skip
    assert data["parameters"]["depth"] == 1000
    assert len(data["effectiveness"]) == 2 * 2 * 2 * 2
    assert set(to_json(evaluation, include_queries=True)) - set(data) == {
        "query_scores",
        "query_drops",
    }
    rows = summary_rows(evaluation, "core")
    assert [row["measure"] for row in rows] == ["P@1"] * 4 + ["AP"] * 4
    assert all(row["re_delta_drop"] is None for row in rows if row["snapshot"] == "2022-06")
    assert math.isclose(rows[-1]["delta_ri"], 0.5)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ("first", [("a", None), ("b", "a"), ("c", "a")]),
        ("consecutive", [("a", None), ("b", "a"), ("c", "b")]),
        ("all", [("a", None), ("b", "a"), ("c", "a"), ("c", "b")]),
    ],
)
def test_summary_has_every_selected_comparison(pairs, expected, make_qrels, make_run) -> None:
    found = {"a": 4, "b": 2, "c": 1}
    queries = ("q1", "q2", "q3", "q4")
    qrels = {name: make_qrels([(q, "d", 1) for q in queries]) for name in found}
    runs = {
        "bm25": {
            name: make_run({q: ["d" if i < hits else "x"] for i, q in enumerate(queries)}, "bm25")
            for name, hits in found.items()
        }
    }
    evaluation = evaluate(qrels, runs, EvaluationParameters(("P@1",), pairs=pairs, resamples=0))
    rows = summary_rows(evaluation)
    means = {name: hits / 4 for name, hits in found.items()}
    for row, (snapshot, earlier) in zip(rows, expected, strict=True):
        assert row["snapshot"] == snapshot
        assert row.get("compared_with", earlier) == earlier
        assert ("compared_with" in row) == (pairs != "first")
        drop = None if earlier is None else means[earlier] - means[snapshot]
        change = None if drop is None else drop / means[earlier]
        assert row["re_delta_drop"] == (change if change is None else pytest.approx(change))


@pytest.mark.parametrize(
    ("first", "second", "pooled", "welch"),
    [
        ((1, 0), (1, 0), None, None),
        ((1, 0), (1,), None, "Welch's test needs at least two queries in each snapshot"),
        ((1,), (0,), "the test needs at least one query in each snapshot and three in total", ""),
        (
            (1, 0, 1),
            (),
            "the test needs at least one query in each snapshot and three in total",
            "",
        ),
        ((1, 1), (1,), "the scores have no variance", ""),
        ((1, 1), (1, 1), "the scores have no variance", "the scores have no variance"),
    ],
)
def test_reasons_for_undefined_unpaired_tests(
    make_qrels, make_run, first: tuple[int, ...], second: tuple[int, ...], pooled, welch
) -> None:
    """Queries in two snapshots; 1: the run finds the relevant document, 0: it does not."""
    sides = {"2022-06": first, "2022-07": second}
    qrels = {s: make_qrels([(f"q{i}", "a", 1) for i in range(len(v))]) for s, v in sides.items()}
    runs = {
        s: make_run({f"q{i}": ["a" if hit else "b"] for i, hit in enumerate(v)})
        for s, v in sides.items()
    }
    evaluation = evaluate(qrels, {"s": runs}, EvaluationParameters(("P@1",), resamples=0))
    rows = evaluation.persistence.filter(topic_set="full")
    found = {row["quantity"]: row["reason"] for row in rows.iter_rows(named=True)}
    few = "Welch's test needs at least two queries in each snapshot"
    assert found["p_unpaired"] == pooled
    assert found["p_welch"] == (few if welch == "" else welch)
