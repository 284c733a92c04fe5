"""Verbs on logs, crawls and collections: shapes that scripts rely on."""

import csv
import gzip
import json
import re
import shutil
import zipfile
from functools import partial
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import builder
from builder import BuildReport
from builder.cli import main
from builder.cli.arguments import expand_arguments
from builder.errors import UsageError
from builder.evaluation import EvaluationParameters, evaluate_paths

Captured = pytest.CaptureFixture[str]
CLICK_COLUMNS = (
    "query url impressions examinations clicks last_clicks attractiveness satisfaction relevance"
)


def run(*arguments: object) -> int:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


@pytest.fixture(scope="module")
def bm25(built: BuildReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of BM25 on the collection."""
    runs = tmp_path_factory.mktemp("runs") / "bm25"
    assert run("baseline", built.root, "--out", runs, "--quiet") == 0
    return runs


def _log(folder: Path) -> Path:
    pages = [("a", [2]), ("a", []), ("b", [1, 3])]
    path = folder / "log.jsonl"
    rows = [
        {"time": 1, "user": "u", "query": q, "results": ["x", "y", "z"], "clicks": c}
        for q, c in pages
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_clicks_of_a_log_by_hand(tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "pairs.tsv"
    options = ("--prior", "beta", "--model", "sdbn")
    assert run("clicks", _log(tmp_path), "--out", out, *options) == 0
    assert "3 impressions from 3 records; rejected: none" in capsys.readouterr().out
    with out.open() as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert rows[0] == CLICK_COLUMNS.split()
    assert [row[:6] for row in rows[1:]] == [
        ["a", "x", "2", "2", "0", "0"],
        ["a", "y", "2", "2", "1", "1"],
        ["a", "z", "2", "1", "0", "0"],
        ["b", "x", "1", "1", "1", "0"],
        ["b", "y", "1", "1", "0", "0"],
        ["b", "z", "1", "1", "1", "1"],
    ]
    attractiveness = [float(row[6]) for row in rows[1:]]
    assert attractiveness == pytest.approx([1 / 4, 2 / 4, 1 / 3, 2 / 3, 1 / 3, 2 / 3])
    parquet = tmp_path / "pairs.parquet"
    assert run("clicks", _log(tmp_path), "--out", parquet, *options, "--quiet") == 0
    assert pl.read_parquet(parquet).columns == CLICK_COLUMNS.split()


def test_a_log_without_a_click_is_told(tmp_path: Path, capsys: Captured) -> None:
    log = _log(tmp_path)
    log.write_text(log.read_text().replace('"clicks"', '"clicked"'))
    assert run("clicks", log, "--out", tmp_path / "p.tsv") == 0
    assert "found no clicks in the log" in capsys.readouterr().err


def test_wrong_uses_of_clicks(tmp_path: Path, capsys: Captured) -> None:
    assert run("clicks", _log(tmp_path), "--out", tmp_path / "p.csv") == 2
    assert "expected a file name ending in .parquet or .tsv" in capsys.readouterr().err
    assert run("clicks", _log(tmp_path), "--out", tmp_path / "p.tsv", "--model", "sbdn") == 2
    assert "unknown click model 'sbdn'" in capsys.readouterr().err


def _crawl(path: Path, texts: dict[str, str]) -> Path:
    with gzip.open(path, "wt") as file:
        for name, text in texts.items():
            row = {"url": f"https://a.example/{name}", "timestamp": 1, "title": "T", "text": text}
            file.write(json.dumps(row) + "\n")
    return path


def test_changes_of_two_crawls(tmp_path: Path, capsys: Captured) -> None:
    words = "un deux trois quatre cinq six sept huit neuf dix"
    old = _crawl(
        tmp_path / "old.jsonl.gz", {"1": words, "2": words, "3": "parti", "4": "Même texte."}
    )
    new = _crawl(
        tmp_path / "new.jsonl.gz",
        {"1": words, "2": words.replace("dix", "onze"), "4": "même TEXTE", "5": "neuf arrivé"},
    )
    assert run("changes", old, new, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    documents = found["documents"]
    counts = {name: documents[name] for name in ("added", "removed", "updated", "unchanged")}
    assert counts == {"added": 1, "removed": 1, "updated": 1, "unchanged": 2}
    assert documents["dice"]["median"] == pytest.approx(2 * 10 / 22)
    assert documents["shingle_jaccard"]["median"] == pytest.approx(6 / 8)
    assert {"p10", "median"} <= documents["dice"].keys()
    reasons = ("not_sampled", "not_shown", "left_out", "removed_crawl_unknown")
    assert [documents[name] for name in reasons] == [0, 0, 0, 0]
    assert {"jaccard", "js_bits", "oov_share"} <= found["vocabulary"].keys()
    assert run("changes", old, new) == 0
    assert "documents.added" in capsys.readouterr().out
    assert run("changes", old, tmp_path / "none") == 2


def test_drift_of_a_collection(built: BuildReport, tmp_path: Path, capsys: Captured) -> None:
    assert run("drift", built.root, "--html", tmp_path / "report.html") == 0
    page = (tmp_path / "report.html").read_text()
    assert "<html" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    capsys.readouterr()
    assert run("drift", built.root, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["format"].startswith("longeval-drift")


def test_drift_prints_what_changed(built: BuildReport, capsys: Captured) -> None:
    assert run("drift", built.root) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.startswith("snapshots")
    pairs = list(pairwise(builder.open_collection(built.root).snapshots))
    assert [line[:18] for line in lines[: len(pairs)]] == [f"{a} to {b}" for a, b in pairs]
    changes = builder.open_collection(built.root).table("document_changes").collect()
    counts = changes.filter(from_snapshot=pairs[0][0])["status"].value_counts().rows()
    numbers = lines[0].split()[3:]
    known = dict(counts)
    assert numbers[1:4] == [str(known.get(n, 0)) for n in ("updated", "added", "removed")]
    assert any(line.startswith("- ") for line in lines)
    assert any(line.startswith("? cannot tell: ") for line in lines)


def test_drift_of_a_release_lists_the_checks_that_cannot_tell_in_one_line(
    built: BuildReport, tmp_path: Path, capsys: Captured
) -> None:
    assert built.version is not None
    copy = shutil.copytree(built.version, tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["definition"]["imported"] = {"layout": "longeval-web", "documents": True}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert run("drift", copy) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("?")]
    assert re.fullmatch(r"\? cannot tell: \d+ checks?, mostly .*: \w+(, \w+)*", line)


def test_drift_of_an_earlier_format(built: BuildReport, tmp_path: Path, capsys: Captured) -> None:
    assert built.version is not None
    copy = shutil.copytree(built.version, tmp_path / "copy")
    path = copy / "drift.json"
    path.write_text(path.read_text().replace("longeval-drift/2", "longeval-drift/1"))
    assert run("drift", copy) == 1
    assert "expected format longeval-drift/2, found longeval-drift/1" in capsys.readouterr().err
    path.write_text("[]")
    assert run("drift", copy) == 1


def test_any_two_snapshots(built: BuildReport, tmp_path: Path, capsys: Captured) -> None:
    """The first and the last month, which are no neighbours, in text, JSON and HTML alike."""
    collection = builder.open_collection(built.root)
    first, *_, last = collection.snapshots
    options = ("drift", built.root, "--from", first, "--to", last)
    assert run(*options) == 0
    assert f"{first} to {last}" in capsys.readouterr().out.splitlines()[1]
    html = tmp_path / "report.html"
    assert run(*options, "--format", "json", "--html", html) == 0
    found = json.loads(capsys.readouterr().out)
    (pair,) = found["pairs"]
    assert (pair["from"], pair["to"]) == (first, last)
    held = [collection.snapshot(n).documents.collect()["doc_id"].to_list() for n in (first, last)]
    both = pair["documents"]["unchanged"] + pair["documents"]["updated"]
    assert both == len({*held[0]} & {*held[1]})
    crawled = dict(
        collection.table("documents_map").select("doc_id", "crawled").collect().iter_rows()
    )
    gone = [doc for doc in {*held[0]} - {*held[1]} if last not in crawled[doc]]
    assert pair["documents"]["removed"] == len(gone)
    page = html.read_text()
    assert f"{first} \N{RIGHTWARDS ARROW} {last}" in page
    assert "One snapshot has nothing to compare with" not in page


def test_snapshots_that_cannot_be_compared(built: BuildReport, capsys: Captured) -> None:
    first, *_, last = builder.open_collection(built.root).snapshots
    assert run("drift", built.root, "--from", last, "--to", first) == 2
    assert "expected an earlier and a later snapshot" in capsys.readouterr().err
    assert run("drift", built.root, "--from", "1999-01") == 2
    assert "unknown snapshot '1999-01'" in capsys.readouterr().err


def test_bm25_is_above_chance_and_shuffled_judgements_are_not(
    built: BuildReport, bm25: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert run("evaluate", built.root, bm25, "--measures", "nDCG@10", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["systems"] == ["bm25"]
    full = [row for row in found["effectiveness"] if row["topic_set"] == "full"]
    assert [row["snapshot"] for row in full] == ["2022-06", "2022-07", "2022-08"]
    assert min(row["value"] for row in full) > 0.3
    from builder.evaluation import EvaluationParameters, evaluate_paths

    shuffled = {}
    assert built.version is not None
    for name in found["snapshots"]:
        qrels = pl.read_parquet(built.version / f"snapshots/{name}/qrels.parquet")
        queries = qrels["query_id"].unique().sort()
        other = dict(zip(queries, queries.sample(fraction=1, shuffle=True, seed=1), strict=True))
        path = tmp_path / f"{name}.txt"
        rows = qrels.with_columns(pl.col("query_id").replace(other)).select(
            "query_id", pl.lit(0), "doc_id", "grade"
        )
        rows.write_csv(path, separator=" ", include_header=False)
        shuffled[name] = path
    parameters = EvaluationParameters(measures=("nDCG@10",), resamples=0)
    chance = evaluate_paths(shuffled, [bm25], parameters).effectiveness
    values = chance.filter(pl.col("topic_set") == "full")["value"].to_list()
    assert max(values) < min(row["value"] for row in full) / 3


def test_a_table_of_an_evaluation(
    built: BuildReport, bm25: Path, tmp_path: Path, capsys: Captured
) -> None:
    page = tmp_path / "e.html"
    measures = ("--measures", "P@10", "RR", "--resamples", "50", "--html", page)
    assert run("evaluate", built.root, bm25, *measures) == 0
    text = capsys.readouterr().out
    assert "re_delta_drop" in text
    assert "measures:P@10+RR|depth:1000" in text
    assert "<svg" in page.read_text()
    assert run("evaluate", built.root, bm25, "--measures", "nDGC") == 2
    assert "did you mean 'nDCG'" in capsys.readouterr().err


def test_some_options_take_several_words(tmp_path: Path) -> None:
    words = ["evaluate", "c", "run", "--measures", "nDCG@10", "AP,RR", "--depth", "10"]
    assert expand_arguments(words) == [
        *("evaluate", "c", "run", "--measures", "nDCG@10"),
        *("--measures", "AP", "--measures", "RR", "--depth", "10"),
    ]
    files = [str(tmp_path / name) for name in ("a.gz", "b.gz")]
    for file in files:
        Path(file).touch()
    assert expand_arguments(["simulate", "--over", *files, str(tmp_path)]) == [
        *("simulate", "--over", files[0], "--over", files[1], str(tmp_path))
    ]
    assert expand_arguments(["evaluate", "--measures=P(rel=2)@10,AP", "c", "typo/run"]) == [
        *("evaluate", "--measures", "P(rel=2)@10", "--measures", "AP", "c", "typo/run")
    ]
    assert expand_arguments(["evaluate", "--measures", "ERR@20(max=4)", "typo/run", "run.txt"]) == [
        *("evaluate", "--measures", "ERR@20(max=4)", "typo/run", "run.txt")
    ]
    for words in (["--measures"], ["--measures", "--depth", "3"]):
        with pytest.raises(UsageError, match="--measures: expected at least one value"):
            expand_arguments(["evaluate", *words])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".json"])
def test_scores_per_query(
    built: BuildReport, bm25: Path, tmp_path: Path, capsys: Captured, suffix: str
) -> None:
    out = tmp_path / f"scores{suffix}"
    command = ("evaluate", built.root, bm25, "--measures=AP,P@10", "--resamples", "0")
    assert run(*command, "--per-query", out) == 0
    readers = {
        ".csv": pl.read_csv,
        ".tsv": partial(pl.read_csv, separator="\t"),
        ".parquet": pl.read_parquet,
        ".json": lambda path: pl.DataFrame(json.loads(path.read_text())["query_scores"]),
    }
    opened = builder.open_collection(built.root)
    qrels = {name: opened.snapshot(name).folder / "qrels.parquet" for name in opened.snapshots}
    parameters = EvaluationParameters(measures=("AP", "P@10"), resamples=0)
    expected = evaluate_paths(qrels, [bm25], parameters).query_scores
    found = readers[suffix](out).select(expected.columns).cast(expected.schema)
    assert found.equals(expected)
    capsys.readouterr()
    assert run(*command, "--per-query", tmp_path / "scores.xlsx") == 2
    assert "expected .csv, .tsv, .parquet or .json" in capsys.readouterr().err


def test_lists_are_separated_by_commas_and_never_swallow_a_path() -> None:
    assert expand_arguments(["evaluate", "--measures=nDCG@10,ERR@20(max=4)", "c", "typo/run"])[
        1:5
    ] == [*("--measures", "nDCG@10", "--measures", "ERR@20(max=4)")]
    assert expand_arguments(["evaluate", "--measures", "AP", "runs/no.txt"])[-2:] == [
        "AP",
        "runs/no.txt",
    ]
    assert expand_arguments(["evaluate", "--measures", "AP", "no.txt"])[-2:] == ["AP", "no.txt"]
    assert (
        expand_arguments(["evaluate", "--measures", "ir_measures:infAP", "AP"])[-2] == "--measures"
    )
    assert expand_arguments(["evaluate", "--split", "test,heldout", "c"]) == [
        *("evaluate", "--split", "test", "--split", "heldout", "c")
    ]
    assert expand_arguments(["trend", "--cutoff=50,100"]) == [
        "trend",
        "--cutoff",
        "50",
        "--cutoff",
        "100",
    ]
    assert expand_arguments(["evaluate", "--pivot", "a,b"]) == ["evaluate", "--pivot", "a,b"]


def test_baselines_are_fused_reranked_and_compared_with_chance(
    built: BuildReport, tmp_path: Path, capsys: Captured
) -> None:
    runs = tmp_path / "bm25"
    assert run("baseline", built.root, "--out", runs, "--depth", "20", "--quiet") == 0
    first = runs / "2022-06.txt.gz"
    fused, reranked = tmp_path / "rrf.txt", tmp_path / "re.txt"
    assert run("fuse", first, "--out", fused) == 0
    with gzip.open(first, "rt") as file:
        pairs = [line.split()[:3:2] for line in file]
    fused_pairs = [line.split()[:3:2] for line in fused.read_text().splitlines()]
    assert fused_pairs == pairs
    query = pairs[0][0]
    of_query = [document for q, document in pairs if q == query]
    scores = tmp_path / "scores.tsv"
    scores.write_text("".join(f"{query} {d} {n}\n" for n, d in enumerate(of_query)))
    assert run("rerank", first, scores, "--out", reranked, "--top", "5") == 0
    lines = [line.split() for line in reranked.read_text().splitlines()]
    moved = [line[2] for line in lines if line[0] == query]
    assert moved == [*reversed(of_query[:5]), *of_query[5:]]
    assert run("trend", "snapshots", built.root, runs, "--format", "json") == 0
    last = capsys.readouterr().out
    trends = json.loads(last[last.index("{") :])["trends"]
    assert [(row["system"], row["measure"]) for row in trends] == [("bm25", "nDCG@10")]
    assert "intercept" in trends[0]
    assert run("trend", "snapshots", built.root, runs) == 0
    in_full = capsys.readouterr().out
    assert run("trend", "--measures", "nDCG@10", built.root, runs) == 0
    assert capsys.readouterr().out == in_full
    header = next(line for line in in_full.splitlines() if "batches" in line)
    assert header.split() == [
        *("system", "measure", "batches", "slope_per_day", "slope_se_per_day", "p"),
        *("end_point", "anderson_darling_p", "durbin_watson_p", "reason"),
    ]
    assert run("sanity", built.root) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[-3:]]
    for language, _, _, ndcg, _, chance in rows:
        assert language == "fr"
        assert float(ndcg) > 0.3 > 10 * float(chance)


def test_drift_of_one_pair(built: BuildReport, capsys: Captured) -> None:
    options = ("--from", "2022-06", "--to", "2022-07", "--format", "json")
    assert run("drift", built.root, *options) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(p["from"], p["to"]) for p in found["pairs"]] == [("2022-06", "2022-07")]
    assert {tuple(check["snapshots"]) for check in found["checks"]} == {
        ("2022-06",),
        ("2022-07",),
        ("2022-06", "2022-07"),
    }
    agree = [c["verdict"] for c in found["checks"] if c["check"] == "parameters_agree"]
    assert agree == ["clear"]
    assert run("drift", built.root, "--from", "2022-08") == 2
    assert "found 2022-08, 2022-08" in capsys.readouterr().err


def test_a_change_of_score_is_attributed(
    built: BuildReport, bm25: Path, tmp_path: Path, capsys: Captured
) -> None:
    options = ("--measures", "nDCG@10", "P@10", "--format", "json")
    assert run("attribute", built.root, bm25, *options) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["measure"], row["from"]) for row in found] == [
        ("P@10", "2022-06"),
        ("P@10", "2022-07"),
        ("nDCG@10", "2022-06"),
        ("nDCG@10", "2022-07"),
    ]
    assert run("evaluate", built.root, bm25, "--measures", "nDCG@10", "--format", "json") == 0
    means = {
        row["snapshot"]: row["value"]
        for row in json.loads(capsys.readouterr().out)["effectiveness"]
        if row["topic_set"] == "full"
    }
    for row in found:
        parts = [
            row[name] for name in ("documents", "queries", "judgements", "statistics_and_system")
        ]
        assert sum(parts) == pytest.approx(row["change"], abs=1e-12)
        assert len(row["cells"]) == 8
        if row["measure"] == "nDCG@10":
            assert row["change"] == pytest.approx(means[row["to"]] - means[row["from"]])
    earlier = tmp_path / "earlier/bm25"
    assert run("baseline", built.root, "--out", earlier, "--earlier-statistics", "--quiet") == 0
    assert sorted(path.name for path in earlier.iterdir()) == ["2022-07.txt.gz", "2022-08.txt.gz"]
    assert run("attribute", built.root, bm25, *options, "--earlier-statistics", earlier) == 0
    split = json.loads(capsys.readouterr().out)
    assert any(abs(row["statistics_part"]) > 1e-4 for row in split)
    for row, whole in zip(split, found, strict=True):
        assert row["system"] == whole["system"] == "bm25"
        parts = row["statistics_part"] + row["system_part"]
        assert parts == pytest.approx(whole["statistics_and_system"], abs=1e-12)
        assert row["system_part"] == pytest.approx(0.0, abs=1e-4)  # single precision breaks ties
    options = ("--out", earlier, "--earlier-statistics", "--expand", "rm3")
    assert run("baseline", built.root, *options) == 2
    message = "--earlier-statistics cannot be combined with --expand rm3"
    assert message in " ".join(capsys.readouterr().err.split())
    other = tmp_path / "earlier/other"
    earlier.rename(other)
    assert run("attribute", built.root, bm25, "--earlier-statistics", other) == 2
    assert (
        "expected a run of bm25 for 2022-07, ranked with the statistics of the preceding snapshot, "
        "found only runs of other for 2022-07, other for 2022-08; the path of a run must name its "
        "system and snapshot"
    ) in " ".join(capsys.readouterr().err.split())
    only = tmp_path / "only/2022-06.txt.gz"
    only.parent.mkdir()
    only.write_bytes((bm25 / "2022-06.txt.gz").read_bytes())
    assert run("attribute", built.root, only.parent) == 2
    assert "for two consecutive snapshots" in capsys.readouterr().err


def test_queries_are_expanded_by_earlier_judgements(
    built: BuildReport, tmp_path: Path, capsys: Captured
) -> None:
    for method in ("rm3", "keyquery"):
        options = ("--expand", method, "--depth", "50", "--fb-docs", "3", "--fb-terms", "4")
        assert run("baseline", built.root, "--out", tmp_path / method, *options) == 0
    lines = capsys.readouterr().out.splitlines()
    queries = pl.read_parquet(next(built.root.glob("*/snapshots/2022-06/queries.parquet"))).height
    assert lines[0].endswith(
        f"(queries with earlier judgements: 0, pseudo-relevance feedback: {queries}, "
        "no expansion: 0)"
    )
    assert lines[3].endswith(
        "(queries with earlier judgements: 0, pseudo-relevance feedback: 0, "
        f"no expansion: {queries})"
    )
    assert run("baseline", built.root, "--out", tmp_path / "bm25", "--depth", "50") == 0
    command = ("evaluate", built.root, *(tmp_path / name for name in ("bm25", "rm3", "keyquery")))
    capsys.readouterr()
    assert run(*command, "--measures", "nDCG@10", "--resamples", "0", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)["effectiveness"]
    means = {(r["system"], r["snapshot"]): r["value"] for r in rows if r["topic_set"] == "full"}
    assert means["keyquery", "2022-06"] == means["bm25", "2022-06"]
    for snapshot in ("2022-07", "2022-08"):
        assert means["bm25", snapshot] < means["keyquery", snapshot]
        assert means["bm25", snapshot] + 0.05 < means["rm3", snapshot]
    weights = ("--out", tmp_path / "original", "--depth", "50", "--quiet", "--expand", "rm3")
    assert run("baseline", built.root, *weights, "--original-weight", "1") == 0
    with (
        gzip.open(tmp_path / "original/2022-06.txt.gz", "rt") as original,
        gzip.open(tmp_path / "bm25/2022-06.txt.gz", "rt") as plain,
    ):
        first = [line.split()[:3:2] for line in original]
        assert {tuple(pair) for pair in first} == {tuple(line.split()[:3:2]) for line in plain}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--fb-docs", "3"),
            (
                "--fb-docs, --fb-terms, --original-weight: expected --expand rm3 or "
                "--expand keyquery with these options, found no --expand"
            ),
        ),
        (
            ("--expand", "keyquery", "--original-weight", "0.2"),
            "--original-weight: expected --expand rm3, found --expand keyquery",
        ),
    ],
)
def test_options_of_feedback_without_their_method_are_refused(
    options: tuple[str, ...], message: str, built: BuildReport, tmp_path: Path, capsys: Captured
) -> None:
    assert run("baseline", built.root, "--out", tmp_path / "run", *options) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


def test_embeddings_are_searched(tmp_path: Path, capsys: Captured) -> None:
    documents, queries = tmp_path / "documents.parquet", tmp_path / "queries.parquet"
    pl.DataFrame({"doc_id": ["a", "b"], "vector": [[1.0, 0.0], [0.5, 2.0]]}).write_parquet(
        documents
    )
    pl.DataFrame({"query_id": ["q"], "vector": [[2.0, 1.0]]}).write_parquet(queries)
    out = tmp_path / "run.txt"
    assert run("dense", documents, queries, "--out", out, "--tag", "mine") == 0
    assert capsys.readouterr().out == f"wrote {out}: 2 lines\n"
    assert out.read_text() == "q Q0 b 1 3.0 mine\nq Q0 a 2 2.0 mine\n"
    assert run("dense", documents, queries, "--out", out, "--depth", "1") == 0
    assert out.read_text() == "q Q0 b 1 3.0 dense\n"
    capsys.readouterr()
    assert run("dense", documents, queries, "--out", documents) == 2
    assert capsys.readouterr().err == (
        f"longeval: {documents}: the output would overwrite an input; choose another path\n"
    )
    pl.DataFrame({"query_id": ["q"], "vector": [[2.0]]}).write_parquet(queries)
    assert run("dense", documents, queries, "--out", out) == 1
    assert capsys.readouterr().err == (
        f"longeval: {documents}: expected vectors of length 1, found lengths ['2']\n"
    )


def test_zipped_runs_are_those_of_their_folder(
    built: BuildReport, tmp_path: Path, capsys: Captured
) -> None:
    folder = tmp_path / "bm25"
    assert run("baseline", built.root, "--out", folder, "--depth", "20", "--quiet") == 0
    with zipfile.ZipFile(tmp_path / "team.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"bm25/{path.name}")
    capsys.readouterr()
    for command in (("attribute",), ("reproducibility",), ("trend", "snapshots"), ("evaluate",)):
        outputs = []
        for runs in (folder, tmp_path / "team.zip"):
            assert run(*command, built.root, runs, "--format", "json") == 0
            outputs.append(json.loads(capsys.readouterr().out))
        assert outputs[0] == outputs[1]


def test_missing_documents_are_reported(
    built: BuildReport, tmp_path: Path, capsys: Captured
) -> None:
    shutil.copytree(built.root, tmp_path / "collection")
    (documents,) = tmp_path.glob("collection/[0-9]*/snapshots/2022-06/documents")
    count = sum(pl.read_parquet(path).height for path in documents.iterdir())
    shutil.rmtree(documents)
    (tmp_path / "2022-06.txt").write_text("q Q0 d 1 1 t\n")
    message = f"{documents}: expected {count} documents according to the manifest, found none"
    for command in (("sanity",), ("runs", "check")):
        runs = [tmp_path / "2022-06.txt"] if command[0] == "runs" else []
        assert run(*command, tmp_path / "collection", *runs) == 1
        assert capsys.readouterr().err == f"longeval: {message}\n"
