"""How long a persistence table takes, beside repro_eval on the same files.

Six snapshots, a pivot and one system, 1,000 topics x 1,000 documents in every run file (about 57 MB
each), 14 judged documents per topic. Ours: all default measures, six tables, 1,000 resamples.
repro_eval: ER, delta RI and the unpaired t-test from the first snapshot to each later one, once as
its documentation shows (one evaluator per pair, all its measures), once as fast as its parts allow
(every file read once, our measures only, ERR left out because it cannot compute it).

Run it as `python tests/bench/bench_evaluation.py`.
"""

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import polars as pl
from repro_eval.Evaluator import RplEvaluator
from repro_eval.measure.overall_effects import DRI, ER
from repro_eval.measure.statistics import ttest
from repro_eval.util import break_ties, evaluate_run, load_qrels, load_run, trim_run

from builder.evaluation import EvaluationParameters, Run, evaluate_paths, write_run

SNAPSHOTS = tuple(f"2022-{month:02}" for month in range(6, 12))
SYSTEMS = ("bm25", "mono")
TOPICS, DEPTH, JUDGED, DOCUMENTS = 1000, 1000, 14, 20_000
PEER_MEASURES = ("nDCG", "nDCG@10", "P@10", "AP", "Bpref", "RR")


def run_bench(quick: bool = False) -> list[dict[str, Any]]:
    """Time ours and theirs.

    Args:
        quick: A twentieth of the topics.

    Returns:
        Rows with `name`, `seconds`, `peer`, `peer_seconds` and `ratio`.
    """
    topics = TOPICS // 20 if quick else TOPICS
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_world(place, topics)
        ours, found = clock(lambda: evaluate_ours(place))
        documented, first = clock(lambda: evaluate_as_documented(place))
        fastest, second = clock(lambda: evaluate_each_file_once(place))
    compare_results(found, first)
    compare_results(found, second)
    rows = []
    for peer, seconds in (("repro_eval", documented), ("repro_eval, fastest use", fastest)):
        rows.append(
            {
                "name": f"persistence table, 12 runs of {topics * DEPTH:,} lines",
                "seconds": round(ours, 2),
                "peer": peer,
                "peer_seconds": round(seconds, 2),
                "ratio": round(seconds / ours, 1),
            }
        )
    return rows


def write_world(folder: Path, topics: int) -> None:
    """Run and qrels files, the same in every call."""
    rng = np.random.default_rng(0)
    queries = np.array([f"q{i:016x}" for i in range(topics)])
    documents = np.array([f"d{i:016x}" for i in range(DOCUMENTS)])
    for snapshot in SNAPSHOTS:
        judged = np.stack([rng.choice(DOCUMENTS, JUDGED, replace=False) for _ in range(topics)])
        grades = rng.choice(3, (topics, JUDGED), p=[0.7, 0.2, 0.1])
        lines = zip(
            np.repeat(queries, JUDGED), documents[judged.ravel()], grades.ravel(), strict=True
        )
        (folder / f"{snapshot}.qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in lines))
        for system in SYSTEMS:
            others = np.stack([rng.choice(DOCUMENTS, DEPTH, replace=False) for _ in range(topics)])
            others[:, :JUDGED] = np.where(
                rng.random((topics, JUDGED)) < 0.7, judged, others[:, :JUDGED]
            )
            scores = rng.gamma(2.0, 1.0, (topics, DEPTH))
            scores[:, :JUDGED] += grades
            frame = pl.DataFrame(
                {
                    "query_id": np.repeat(queries, DEPTH),
                    "doc_id": documents[others.ravel()],
                    "score": np.round(scores.ravel(), 6),
                }
            ).unique(["query_id", "doc_id"], keep="first", maintain_order=True)
            write_run(Run.from_scores(frame, system), folder / system / f"{snapshot}.txt")


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result of some work."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def evaluate_ours(folder: Path) -> dict[tuple[str, str, str], float]:
    """ER, delta RI and p by snapshot and measure, from the full set."""
    qrels = {snapshot: folder / f"{snapshot}.qrels" for snapshot in SNAPSHOTS}
    runs = [folder / system for system in SYSTEMS]
    table = evaluate_paths(qrels, runs, EvaluationParameters(pivot=SYSTEMS[0])).persistence
    rows = table.filter(topic_set="full", system=SYSTEMS[1])
    return {
        (row["to_snapshot"], row["measure"], row["quantity"]): row["value"]
        for row in rows.iter_rows(named=True)
    }


def evaluate_as_documented(folder: Path) -> dict[tuple[str, str, str], float]:
    """One evaluator per pair of snapshots, as in repro_eval's documentation."""
    found = {}
    first, *later = SNAPSHOTS
    for snapshot in later:
        evaluator = RplEvaluator(
            qrels_orig_path=str(folder / f"{first}.qrels"),
            qrels_rpl_path=str(folder / f"{snapshot}.qrels"),
            run_b_orig_path=str(folder / SYSTEMS[0] / f"{first}.txt"),
            run_a_orig_path=str(folder / SYSTEMS[1] / f"{first}.txt"),
            run_b_rep_path=str(folder / SYSTEMS[0] / f"{snapshot}.txt"),
            run_a_rep_path=str(folder / SYSTEMS[1] / f"{snapshot}.txt"),
        )
        evaluator.trim()
        evaluator.evaluate()
        found |= named(snapshot, evaluator.er(), evaluator.dri(), evaluator.ttest()["advanced"])
    return found


def evaluate_each_file_once(folder: Path) -> dict[tuple[str, str, str], float]:
    """repro_eval's functions on scores that are computed once per file."""
    measures = [ir_measures.parse_measure(name) for name in PEER_MEASURES]
    scores = {}
    for snapshot in SNAPSHOTS:
        qrels = load_qrels(str(folder / f"{snapshot}.qrels"))
        for system in SYSTEMS:
            run = break_ties(load_run(str(folder / system / f"{snapshot}.txt")))
            trim_run(run, DEPTH)
            scores[system, snapshot] = evaluate_run(measures, qrels, run)
    found = {}
    pivot, system = SYSTEMS
    first, *later = SNAPSHOTS
    for snapshot in later:
        four = [scores[s, t] for t in (first, snapshot) for s in (system, pivot)]
        p = ttest(scores[system, first], scores[system, snapshot], rpd=False)
        found |= named(snapshot, ER(*four), DRI(*four), p)
    return found


def named(
    snapshot: str, er: dict[str, float], dri: dict[str, float], p: dict[str, float]
) -> dict[tuple[str, str, str], float]:
    """Their results under our names."""
    kinds = {"effect_ratio": er, "delta_ri": dri, "p_unpaired": p}
    return {
        (snapshot, "bpref" if name == "Bpref" else name, kind): values[name]
        for kind, values in kinds.items()
        for name in PEER_MEASURES
    }


def compare_results(
    ours: dict[tuple[str, str, str], float], theirs: dict[tuple[str, str, str], float]
) -> None:
    """Stop when the two disagree: a faster wrong number is worth nothing."""
    for key, value in theirs.items():
        if not np.isclose(ours[key], value, rtol=1e-9, atol=1e-9):
            raise SystemExit(f"{key}: ours {ours[key]}, repro_eval {value}")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    json.dump(run_bench(), sys.stdout, indent=1)
