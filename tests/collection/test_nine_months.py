"""Months of every layout: no line is lost, and the scores are those of trec_eval.

`make thorough` has nine of them.
"""

import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from builder.cli import app
from builder.collection.imports.release import ImportReport
from tests.collection.nine_months import (
    MONTHS,
    ODD,
    ODD_LINES,
    QUERIES,
    ids,
    judgements,
    repeated_judgements,
    write_release,
)
from tests.collection.releases import imported, opened, write
from tests.thorough import ALL

MEASURES = {
    "nDCG@10": "ndcg_cut_10",
    "nDCG": "ndcg",
    "P@10": "P_10",
    "AP": "map",
    "RR": "recip_rank",
    "bpref": "bpref",
}
SYSTEMS = 10 if ALL else 4
PARENTS = {"longeval-2023": 3, "longeval-web": 2, "longeval-sci": 1}
"""Number of folders between the root of a release and its first judgement file."""


def _run_of(layout: str, month: str, system: int) -> dict[str, dict[str, float]]:
    """Scores with many ties, for all queries of a month but the first few."""
    rng, (queries, documents) = random.Random(f"{month} {system}"), ids(layout, month)
    return {
        query: {document: float(rng.randrange(8)) for document in documents}
        for query in queries[system % 3 :]
    }


def _run_lines(layout: str, run: dict[str, dict[str, float]], system: int) -> str:
    prefix = "doc" if layout == "longeval-web" else ""  # as in its documents, not in its qrels
    return "".join(
        f"{query} Q0 {prefix}{document} 1 {score} s{system}\n"
        for query, scores in run.items()
        for document, score in scores.items()
    )


@dataclass(frozen=True)
class NineMonths:
    """A release of all months, its judgement files by month, and its import."""

    layout: str
    files: dict[str, Path]
    report: ImportReport

    def judged(self, month: str) -> dict[tuple[str, str], int]:
        """The grade of each pair, that of its last line; by the text of the file."""
        layout = self.layout
        lines = [*judgements(layout, month, 1), *repeated_judgements(layout, month)]
        return {(q, d): int(grade) for q, _, d, grade in map(str.split, lines)}


@pytest.fixture(scope="module", params=("longeval-2023", "longeval-web", "longeval-sci"))
def months(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NineMonths:
    folder = tmp_path_factory.mktemp("months")
    files = write_release(folder / "r", request.param)
    return NineMonths(request.param, files, imported(folder / "r", request.param))


def _qrels(months: NineMonths, month: str) -> dict[str, dict[str, int]]:
    """The judgements of a month for pytrec_eval: its own reader refuses files with repetitions."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    if month not in ODD:
        with months.files[month].open() as file:
            return dict(pytrec_eval.parse_qrel(file))
    qrels: dict[str, dict[str, int]] = {}
    for (query, document), grade in months.judged(month).items():
        qrels.setdefault(query, {})[document] = grade
    return qrels


def test_trec_eval_and_evaluate_agree(months: NineMonths, tmp_path: Path) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    expected = {}
    for month in MONTHS:
        scorer = pytrec_eval.RelevanceEvaluator(_qrels(months, month), set(MEASURES.values()))
        for system in range(SYSTEMS):
            run = _run_of(months.layout, month, system)
            text = _run_lines(months.layout, run, system)
            write(tmp_path / f"runs/s{system}/{month}.txt", text)
            scores = scorer.evaluate(run)
            for ours, theirs in MEASURES.items():
                mean = sum(found[theirs] for found in scores.values()) / QUERIES
                expected[f"s{system}", month, ours] = f"{mean:.4f}"
    runs = [str(tmp_path / f"runs/s{system}") for system in range(SYSTEMS)]
    options = [word for name in MEASURES for word in ("--measures", name)]
    options += ["--resamples", "0", "--format", "json"]
    said = CliRunner().invoke(app, ["evaluate", str(months.report.version), *runs, *options])
    assert said.exit_code == 0, said.output
    rows = [r for r in json.loads(said.stdout)["effectiveness"] if r["topic_set"] == "full"]
    found = {(r["system"], r["snapshot"], r["measure"]): f"{r['value']:.4f}" for r in rows}
    assert found == expected
    assert {row["queries"] for row in rows} == {QUERIES}


def test_every_judgement_line_is_a_row_or_a_named_reject(months: NineMonths) -> None:
    assert tuple(months.report.rows) == MONTHS
    for month, path in months.files.items():
        snapshot = opened(months.report).snapshot(month)
        rows = snapshot.qrels.select("query_id", "doc_id", "grade").collect().rows()
        judged = months.judged(month)
        assert {(query, document): grade for query, document, grade in rows} == judged
        ledger = months.report.ledgers[month]
        ledger.check("import")
        lines = path.read_bytes().count(b"\n")
        assert ledger.rows_in == QUERIES + lines
        assert lines == len(rows) + sum(ledger.rejected.values())
        file = path.relative_to(months.files[MONTHS[0]].parents[PARENTS[months.layout]]).as_posix()
        rejects = snapshot.rejects.filter(file=file).collect()
        assert rejects["line"].n_unique() == sum(ledger.rejected.values())


def test_reasons_of_the_rejects(months: NineMonths) -> None:
    for month in MONTHS:
        first = {tuple(line.split()[:3]): line for line in judgements(months.layout, month, 1)}
        again = repeated_judgements(months.layout, month)
        earlier = [(first.get(tuple(line.split()[:3])), line) for line in again]
        reasons = Counter(
            "repeated_judgement" if before == line else "contradicting_judgement"
            for before, line in earlier
            if before is not None
        )
        if month in ODD:
            assert len(reasons) == 2
            reasons.update({name: lines.count(b"\n") for name, lines in ODD_LINES.items()})
        assert months.report.ledgers[month].rejected == reasons
