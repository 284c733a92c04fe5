"""The whole of `drift.json` on three months, recomputed in plain Python."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from builder.drift import measure_drift
from builder.drift.checks import PAIR_CHECKS, SNAPSHOT_CHECKS
from builder.drift.measure import measure_without_clicks, to_json
from builder.drift.queries import query_statistics
from builder.drift.series import OptionalInputs, SnapshotSeries
from builder.parameters import ChangeParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import Documents, Qrels, Queries
from tests.drift.worlds import Month, Rules, World, frame, observe, page, qrel, query, store
from tests.progress import Steps

NAMES = ("2022-06", "2022-07", "2022-09")
WORLD = World(seed=4, topics=4, queries_per_topic=20, pages_per_query=5)


@pytest.fixture(scope="module")
def months() -> dict[str, Month]:
    return {name: observe(WORLD, Rules(), number) for number, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def stored(
    months: dict[str, Month], tmp_path_factory: pytest.TempPathFactory
) -> tuple[SnapshotSeries, ResourceLimits]:
    return store(tmp_path_factory.mktemp("series"), months)


@pytest.fixture(scope="module")
def drift(stored: tuple[SnapshotSeries, ResourceLimits]) -> dict[str, Any]:
    series, limits = stored[0], stored[1].with_scratch_folder("drift")
    found = measure_without_clicks(series, ChangeParameters(), limits, NoProgress())
    return dict(json.loads(to_json(found)))


def ids(rows: pl.DataFrame, column: str) -> set[str]:
    return set(rows[column])


def test_sizes(drift: dict[str, Any], months: dict[str, Month]) -> None:
    for row, (documents, queries, qrels) in zip(drift["snapshots"], months.values(), strict=True):
        assert row["documents"] == documents.height
        assert row["tokens"] == documents["tokens"].sum()
        assert row["truncated"] == documents["truncated"].sum()
        assert row["queries"]["listed"] == row["queries"]["judged"] == queries.height
        assert row["grades"] == [qrels.filter(pl.col("grade") == g).height for g in range(3)]
        per_query = sorted(Counter(qrels["query_id"]).values())
        assert row["judged_per_query"]["max"] == per_query[-1]
        assert row["judged_per_query"]["mean"] == sum(per_query) / len(per_query)
        assert row["judged_per_query"]["median"] == per_query[-(-len(per_query) // 2) - 1]


def test_overlap_and_survival(drift: dict[str, Any], months: dict[str, Month]) -> None:
    sets = [ids(documents, "doc_id") for documents, _, _ in months.values()]
    jaccard = drift["documents"]["overlap"]["jaccard"]
    assert jaccard == [[len(a & b) / len(a | b) for b in sets] for a in sets]
    assert [row["present"] for row in drift["documents"]["survival"]] == [
        len(sets[0] & later) for later in sets
    ]
    assert drift["documents"]["core"] == len(set.intersection(*sets))
    assert drift["documents"]["ids"] == len(set.union(*sets))
    for kind, column, place in (("listed", "query_id", 1), ("judged", "query_id", 2)):
        asked = [ids(month[place], column) for month in months.values()]
        overlap = drift["queries"][kind]["overlap"]["common"]
        assert overlap == [[len(a & b) for b in asked] for a in asked]


def test_documents_of_each_pair(drift: dict[str, Any], months: dict[str, Month]) -> None:
    for pair in drift["pairs"]:
        before, after = (
            {row["doc_id"]: row for row in months[pair[side]][0].iter_rows(named=True)}
            for side in ("from", "to")
        )
        found = pair["documents"]
        common = before.keys() & after.keys()
        updated = [n for n in common if words(before[n]) != words(after[n])]
        assert found["added"] == len(after.keys() - before.keys())
        assert found["removed"] == len(before.keys() - after.keys())
        assert (found["updated"], found["unchanged"]) == (len(updated), len(common) - len(updated))
        dice = sorted(dice_of(words(before[n]), words(after[n])) for n in updated)
        assert found["dice"]["median"] == dice[-(-len(dice) // 2) - 1]
        assert found["dice"]["p10"] == dice[-(-len(dice) // 10) - 1]
        assert sum(found["dice"]["histogram"]) == sum(found["bands"].values()) == len(updated)
        deltas = [len(words(after[n])) - len(words(before[n])) for n in updated]
        assert found["length_delta"]["tokens"] == sum(deltas)
        assert found["length_delta"]["longer"] == sum(d > 0 for d in deltas)
        hosts = [{row["url"].split("/")[2] for row in side.values()} for side in (before, after)]
        assert (found["hosts"]["from"], found["hosts"]["to"]) == tuple(map(len, hosts))


def words(row: dict[str, Any]) -> list[str]:
    return re.findall(r"\w+", f"{row['title']}\n{row['text']}".lower())


def dice_of(first: list[str], second: list[str]) -> float:
    return 2 * len({*first} & {*second}) / (len({*first}) + len({*second}))


def test_vocabulary_on_all_documents_and_on_the_core(
    drift: dict[str, Any], months: dict[str, Month]
) -> None:
    in_all = set.intersection(*(ids(documents, "doc_id") for documents, _, _ in months.values()))
    for label, kept in (("all", None), ("core", in_all)):
        for pair in drift["vocabulary"][label]:
            before, after = (
                Counter(
                    word
                    for row in months[pair[side]][0].iter_rows(named=True)
                    if kept is None or row["doc_id"] in kept
                    for word in words(row)
                )
                for side in ("from", "to")
            )
            assert pair["types_common"] == len(before.keys() & after.keys())
            assert (pair["tokens_from"], pair["tokens_to"]) == (before.total(), after.total())
            unknown = sum(n for word, n in after.items() if word not in before)
            assert pair["oov_share"] == unknown / after.total()
    assert [(p["from"], p["to"]) for p in drift["vocabulary"]["all"]] == [
        ("2022-06", "2022-07"),
        ("2022-06", "2022-09"),
        ("2022-07", "2022-09"),
    ]


def test_queries_of_each_pair(drift: dict[str, Any], months: dict[str, Month]) -> None:
    for pair in drift["pairs"]:
        before, after = (
            dict(months[pair[side]][1].select("query_id", "impressions").iter_rows())
            for side in ("from", "to")
        )
        found = pair["queries"]
        assert found["new"] == len(after.keys() - before.keys())
        assert found["gone"] == len(before.keys() - after.keys())
        kept = before.keys() & after.keys()
        assert found["kept"] == len(kept)
        assert found["impressions_kept_from"] == sum(before[n] for n in kept)
        assert 0.5 < found["frequency_spearman"] < 1
        gone = sorted(before.keys() - after.keys(), key=lambda n: (-before[n], n))
        assert [row["query_id"] for row in found["movers"]["gone"]] == gone[:10]
        risen = sorted(
            (n for n in kept if after[n] > before[n]), key=lambda n: (before[n] - after[n], n)
        )
        assert [row["query_id"] for row in found["movers"]["risen"]] == risen[:10]


def test_topics_and_lengths(drift: dict[str, Any], months: dict[str, Month]) -> None:
    mix = {row["topic"]: row["queries"] for row in drift["queries"]["topics"]["mix"]}
    for place, (_, queries, _) in enumerate(months.values()):
        expected = Counter(topic for topics in queries["topics"] for topic in topics)
        assert {topic: counts[place] for topic, counts in mix.items()} == expected
        lengths = [len(text.split()) for text in queries["text"]]
        row = drift["queries"]["lengths"][place]
        assert row["mean_words"] == sum(lengths) / len(lengths)
        assert {int(n): q for n, q in row["queries_by_words"].items()} == Counter(lengths)


def test_words_of_queries_have_letters_of_all_kinds() -> None:
    texts = ["prix de l'énergie à Sète", "été", "क्या है", "eau"]
    with duckdb.connect() as connection:
        asked = pl.DataFrame({"query_id": ["a", "b", "c", "d"], "text": texts})
        asked = asked.with_columns(index=0, impressions=pl.lit(1), topics=pl.lit(["t"]))
        connection.register("all_queries", asked.to_arrow())
        nothing = "SELECT 0 AS index, '' AS query_id, [''] AS snapshots LIMIT 0"
        for view in ("all_qrels", "queries_map"):
            connection.execute(f"CREATE VIEW {view} AS {nothing}")
        lengths = query_statistics(connection, ["2022-06"])["lengths"]
    assert lengths[0]["queries_by_words"] == {"1": 2, "2": 1, "6": 1}


def test_judgements_of_each_pair(drift: dict[str, Any], months: dict[str, Month]) -> None:
    every = {(row["from"], row["to"]): row for row in drift["judgements"]}
    for pair in drift["pairs"]:
        before, after = (graded(months[pair[side]][2]) for side in ("from", "to"))
        common = before.keys() & after.keys()
        counts = Counter((before[key][0], after[key][0]) for key in common)
        found = pair["qrels"]
        assert found["transitions"] == [[counts[a, b] for b in range(3)] for a in range(3)]
        assert found["kept_share"] == sum(counts[g, g] for g in range(3)) / len(common)
        assert found["flip_rate"] == (counts[0, 2] + counts[2, 0]) / len(common)
        assert found["jaccard"] == len(common) / len(before.keys() | after.keys())
        assert every[pair["from"], pair["to"]]["transitions"] == found["transitions"]
        evidence = [min(before[key][1], after[key][1]) for key in common]
        by_class = {row["examinations_from"]: row for row in found["by_evidence"]}
        assert by_class[6]["pairs_common"] == sum(6 <= e <= 10 for e in evidence)
        assert by_class[101]["pairs_common"] == sum(e > 100 for e in evidence)
        relevant = sum(grade > 0 for grade, _ in before.values())
        assert sum(row["relevant"] for row in found["relevant_before"]) == relevant
        assert sum(row["pairs"] for row in found["by_document"]) == len(common)


def graded(qrels: pl.DataFrame) -> dict[tuple[str, str], tuple[int, int]]:
    columns = ("query_id", "doc_id", "grade", "examinations")
    return {(q, d): (g, e) for q, d, g, e in qrels.select(columns).iter_rows()}


def test_every_check_is_answered(drift: dict[str, Any]) -> None:
    assert not [c for c in drift["checks"] if c["verdict"] == "construction"]
    assert all(check["evidence"] for check in drift["checks"])
    assert len(drift["checks"]) == 3 * len(SNAPSHOT_CHECKS) + 2 * len(PAIR_CHECKS) + 1


def test_vocabularies_are_compared_one_after_another(
    stored: tuple[SnapshotSeries, ResourceLimits],
) -> None:
    """Three pairs of three snapshots, on all documents and on the core."""
    series, limits, steps = stored[0], stored[1].with_scratch_folder("steps"), Steps()
    found = measure_without_clicks(series, ChangeParameters(), limits, steps)
    assert steps.done == [("words", 6, "comparisons", [1] * 6)]
    assert steps.open is None
    assert ["rising" in pair for pair in found["vocabulary"]["all"]] == [True, False, True]
    assert [(pair["from"], pair["to"]) for pair in found["pairs"]] == [NAMES[:2], NAMES[1:]]
    assert found["format"] == "longeval-drift/2"
    assert found["parameters"]["shingle"] == 5


def test_json_is_sorted_and_readable() -> None:
    assert to_json({"b": [1, None], "a": "é"}) == '{\n "a": "é",\n "b": [\n  1,\n  null\n ]\n}\n'
    with pytest.raises(ValueError, match="JSON"):
        to_json({"a": float("nan")})


def run(series: SnapshotSeries, limits: ResourceLimits, out: Path) -> Any:
    out.mkdir()
    return measure_drift(
        out,
        **vars(series),
        params=ChangeParameters(),
        limits=limits,
        progress=NoProgress(),
    )


def test_the_stage_writes_the_same_bytes(
    stored: tuple[SnapshotSeries, ResourceLimits], months: dict[str, Month], tmp_path: Path
) -> None:
    again = store(tmp_path / "again", months)
    for name, (series, limits) in (("one", stored), ("two", again)):
        ledger = run(series, limits.with_scratch_folder("run"), tmp_path / name)
        assert (ledger.unit, ledger.rows_in, ledger.rows_out) == ("tables", 18, 18)
    for file in ("drift.json", "report.html", "rejects.parquet"):
        first, second = (tmp_path / name / file for name in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()


def test_recorded_parameters_are_compared(months: dict[str, Month], tmp_path: Path) -> None:
    recorded = {"2022-06": {"select.min_users": 5}, "2022-07": {"select.min_users": 3}}
    two = dict(list(months.items())[:2])
    series, limits = store(tmp_path / "x", two, OptionalInputs(recorded=recorded))
    run(series, limits, tmp_path / "out")
    checks = json.loads((tmp_path / "out/drift.json").read_text())["checks"]
    (found,) = (check for check in checks if check["verdict"] == "construction")
    assert found["evidence"] == "recorded parameters differ: select.min_users 5 -> 3"


@pytest.mark.parametrize("count", [1, 2])
def test_empty_snapshots(tmp_path: Path, count: int) -> None:
    nothing = (frame([], Documents), frame([], Queries), frame([], Qrels))
    series, limits = store(tmp_path / "x", dict.fromkeys(NAMES[:count], nothing))
    run(series, limits, tmp_path / "out")
    drift = json.loads((tmp_path / "out/drift.json").read_text())
    assert [row["documents"] for row in drift["snapshots"]] == [0] * count
    assert [row["queries"] for row in drift["snapshots"]] == [
        {"listed": 0, "judged": 0, "listed_only": 0, "judged_only": 0}
    ] * count
    assert [(row["tokens"], row["truncated"]) for row in drift["snapshots"]] == [(0, 0)] * count
    assert len(drift["pairs"]) == count - 1
    assert "<h1>" in (tmp_path / "out/report.html").read_text()


def test_queries_of_a_snapshot_without_any(tmp_path: Path) -> None:
    """Queries are counted in the snapshot that has them, whichever comes first."""
    nothing = (frame([], Documents), frame([], Queries), frame([], Qrels))
    month = (
        frame([page("https://site.fr/", "Titre", "un", truncated=True)], Documents),
        frame([query("eau", "t"), query("loi", "t")], Queries),
        frame([qrel("eau", "https://site.fr/", 2), qrel("mer", "https://site.fr/", 0)], Qrels),
    )
    series, limits = store(tmp_path / "x", {"06": nothing, "07": month})
    found = measure_without_clicks(series, ChangeParameters(), limits, NoProgress())["snapshots"]
    assert [row["queries"]["listed"] for row in found] == [0, 2]
    assert found[1] == found[1] | {
        "snapshot": "07",
        "documents": 1,
        "tokens": 2,
        "truncated": 1,
        "grades": [1, 0, 1],
        "queries": {"listed": 2, "judged": 2, "listed_only": 1, "judged_only": 1},
    }


def test_one_page_one_query(tmp_path: Path) -> None:
    month = (
        frame([page("https://site.fr/", "Titre", "un deux")], Documents),
        frame([query("eau", "t")], Queries),
        frame([qrel("eau", "https://site.fr/", 2)], Qrels),
    )
    series, limits = store(tmp_path / "x", dict.fromkeys(NAMES, month))
    drift = measure_without_clicks(series, ChangeParameters(), limits, NoProgress())
    assert all(pair["documents"]["unchanged"] == 1 for pair in drift["pairs"])
    assert [row["js_bits"] for row in drift["vocabulary"]["all"]] == [0.0, 0.0, 0.0]
    assert drift["queries"]["judged"]["core"] == 1
