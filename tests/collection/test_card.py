"""The dataset card: what it says depends on the definition, and nothing in it is markup."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import builder
from builder import BuildReport, SimulationParameters
from builder.collection.card import dataset_configs, describe_collection, write_card
from builder.collection.card_export import write_export_card
from builder.collection.card_tables import (
    input_file_table,
    parameter_table,
    selection_funnel_table,
    snapshot_size_table,
)
from builder.collection.markdown import code_span, table_cell

WORLD = SimulationParameters(documents=100, queries=10, impressions=1000, snapshots=1)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a b", "`a b`"),
        ("a\n# b\r\n\tc", "`a # b c`"),
        ("`<script>`|", "`'<script>'|`"),
        (" ", "` `"),
    ],
)
def test_no_character_ends_the_code(text: str, code: str) -> None:
    assert code_span(text) == code
    assert table_cell(text) == code.replace("|", "\\|")


def test_values_stand_as_in_a_definition() -> None:
    found = parameter_table({"log": {"fields": {"time": "t|é"}, "on": True, "no": None}, "cut": 1})
    assert found.splitlines()[2:] == [
        '| `log.fields.time` | `"t\\|é"` |',
        "| `log.on` | `true` |",
        "| `log.no` | absent |",
        "| `cut` | `1` |",
    ]


def test_files_stand_with_their_hashes() -> None:
    names = {"name": "2022-06", "log": {"a|b.gz": "f" * 64}, "crawl": {}}
    last = input_file_table([names]).splitlines()[-1]
    assert last == "| 2022-06 | log | `a\\|b.gz` | `ffffffffffffffff...` |"


def test_all_kinds_of_input_files_are_listed() -> None:
    digests = {kind: {f"{kind}.gz": kind[0] * 64} for kind in ("release", "judgements", "log")}
    june = {"name": "2022-06", **digests, "crawl": {"a.gz": "a" * 64, "b.gz": "b" * 64}}
    rows = [("log", "log", "l"), ("crawl", "a", "a"), ("crawl", "b", "b")]
    rows += [("judgements", "judgements", "j"), ("release", "release", "r")]
    assert input_file_table([{"name": "2022-05"}, june]).splitlines() == [
        "| snapshot | input | file | sha256 |",
        "|---|---|---|---|",
        *(f"| 2022-06 | {kind} | `{name}.gz` | `{digit * 16}...` |" for kind, name, digit in rows),
    ]


def test_the_sizes_of_snapshots_stand_beside_their_intervals() -> None:
    snapshots = [{"name": "2022-06", "start": "2022-06-01", "end": "2022-07-01"}]
    counts = {"documents": 1000, "queries": 2, "qrels": 3}
    tables = {f"snapshots/2022-06/{kind}": {"rows": count} for kind, count in counts.items()}
    assert snapshot_size_table(snapshots, tables).splitlines() == [
        "| snapshot | interval | documents | queries | judgements |",
        "|---|---|--:|--:|--:|",
        "| 2022-06 | 2022-06-01 to 2022-07-01 | 1,000 | 2 | 3 |",
    ]


def test_each_table_is_a_configuration_with_a_split_per_snapshot() -> None:
    patterns = {
        "documents 2022-06": "d/06/*",
        "documents 2022-07": "d/07/*",
        "qrels 2022-06-15": "q.parquet",
        "topics": "topics.parquet",
    }
    assert dataset_configs(patterns) == [
        ("documents", "", [("snapshot_2022_06", "d/06/*"), ("snapshot_2022_07", "d/07/*")]),
        ("qrels", "", [("snapshot_2022_06_15", "q.parquet")]),
        ("topics", "topics.parquet", []),
    ]


def _definition(names: list[str], **entries: Any) -> dict[str, Any]:
    """A definition whose licence and citation have line breaks and quotes."""
    collection = {
        "name": "tiny",
        "version": "0.1.0",
        "languages": ["fr", "en"],
        "licence": 'CC BY\n "4.0" é',
        "citation": "Ann\n  2026",
    }
    snapshots = [{"name": name, "start": "a", "end": "b"} for name in names]
    return {"collection": collection, "snapshots": snapshots, "parameters": {}, **entries}


def test_a_collection_is_described_in_one_sentence() -> None:
    assert describe_collection(_definition(["2022-06", "2022-07"]), {}) == (
        "A longitudinal test collection for information retrieval: 2 snapshots of documents and "
        "queries on the same topics, with graded relevance judgements derived from clicks. "
        'Licence: CC BY "4.0" é.'
    )


def test_the_card_of_an_export_has_its_configurations(tmp_path: Path) -> None:
    kinds = ("documents", "queries", "qrels")
    tables = {f"snapshots/2022-06/{kind}": {"rows": 7} for kind in kinds}
    configs = dataset_configs({"topics": "topics.parquet", "qrels 2022-06": "qrels.parquet"})
    write_export_card(tmp_path, _definition(["2022-06"]), tables, configs)
    card = (tmp_path / "README.md").read_text("utf-8").splitlines()
    assert card[: card.index("# tiny 0.1.0")] == [
        "---",
        "pretty_name: tiny 0.1.0",
        "language: [fr, en]",
        "license: other",
        'license_name: "CC BY \\"4.0\\" é"',
        "task_categories: [text-retrieval]",
        "configs:",
        "  - config_name: topics",
        "    data_files: topics.parquet",
        "  - config_name: qrels",
        "    data_files:",
        "      - split: snapshot_2022_06",
        "        path: qrels.parquet",
        "---",
        "",
    ]
    assert card[-7:] == ["## Licence", "", 'CC BY "4.0" é', "", "## Citation", "", "Ann 2026"]
    assert 'qrels = load_dataset("<this repository>", "qrels", split="snapshot_2022_06")' in card


@pytest.mark.parametrize(
    ("select", "clause"),
    [
        ({"anonymity": "users", "min_users": 5}, "at least 5 users submitted it"),
        ({"anonymity": "users", "min_users": 1}, "at least 1 user submitted it"),
        ({"anonymity": "impressions", "min_users": 2}, "it was submitted at least 2 times"),
    ],
)
@pytest.mark.parametrize(("trec", "languages"), [(True, ["fr"]), (False, ["fr", "en"])])
def test_the_card_of_a_build_has_its_parameters_and_shares(
    select: dict[str, Any], clause: str, trec: bool, languages: list[str], tmp_path: Path
) -> None:
    definition = _definition(["2022-06"], parameters={"select": select, "export": {"trec": trec}})
    definition["collection"] |= {"languages": languages, "citation": ""}
    folder = tmp_path / "snapshots/2022-06"
    folder.mkdir(parents=True)
    columns = ("measure", "rank", "count", "total")
    clicks = pl.DataFrame([("click_through", 1, 1, 8)], schema=columns, orient="row")
    clicks.write_parquet(folder / "click_diagnostics.parquet")
    pl.DataFrame(schema=("sentences",)).write_parquet(folder / "translations.parquet")
    kinds = ("documents", "queries", "qrels")
    tables = {f"snapshots/2022-06/{kind}": {"rows": 7} for kind in kinds}
    funnels = {"2022-06": [{"rule": "url_like", "left_out": 1, "remaining": 2}]}
    write_card(tmp_path, definition, tables, funnels)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert f"A query is published only if {clause} in the snapshot" in card
    assert ("- `trec/<snapshot>/`" in card) is trec
    assert ("English texts are machine translations" in card) is (languages == ["fr", "en"])
    for lines in (
        "| in the log | 3 |\n| url like | 1 |\n| selected | 2 |\n",
        "| share | 2022-06 |\n|---|--:|\n| click-through at rank 1 | 12.5 % |\n",
        "## Citation\n\nNot stated.\n",
        f"| `export.trec` | `{'true' if trec else 'false'}` |\n",
        "        path: snapshots/2022-06/documents/part-*.parquet\n",
        "        path: snapshots/2022-06/qrels.parquet\n",
        "| 2022-06 | a to b | 7 | 7 | 7 |\n",
    ):
        assert lines in card, lines


def test_the_card_says_what_was_built(tmp_path: Path, built: BuildReport) -> None:
    builder.simulate(tmp_path / "world", WORLD)
    path = tmp_path / "world/workflow.toml"
    settings = '[select]\nanonymity = "impressions"\nmin_users = 1\n[export]\ntrec = false\n'
    path.write_text(path.read_text("utf-8") + settings, "utf-8")
    alone = builder.build(path, tmp_path / "out").version
    usual = builder.open_collection(built.root).path
    assert alone is not None
    cards = [(folder / "README.md").read_text("utf-8") for folder in (alone, usual)]
    for said, of_alone, of_usual in (
        ("retrieval: 1 snapshot of", True, False),
        ("only if it was submitted at least 1 time in the snapshot", True, False),
        ("only if at least 5 users submitted it in the snapshot", False, True),
        ("address, a phone number, a public IP address, or a personal", True, True),
        ("- `trec/<snapshot>/`", False, True),
        ("machine translations", False, False),
    ):
        assert [said in card for card in cards] == [of_alone, of_usual], said
    assert (usual / "trec").is_dir()
    assert not (alone / "trec").exists()


def test_the_funnel_begins_with_all_queries_of_the_log() -> None:
    funnels = {
        "2022-06": [
            {"rule": "min_users", "left_out": 1200, "remaining": 300},
            {"rule": "url_like", "left_out": 0, "remaining": 300},
            {"rule": "max_words", "left_out": 20, "remaining": 280},
        ],
        "2022-07": [
            {"rule": "min_users", "left_out": 0, "remaining": 90},
            {"rule": "url_like", "left_out": 0, "remaining": 90},
            {"rule": "max_words", "left_out": 1, "remaining": 89},
        ],
    }
    assert selection_funnel_table(funnels).splitlines() == [
        "| rule | 2022-06 | 2022-07 |",
        "|---|--:|--:|",
        "| in the log | 1,500 | 90 |",
        "| min users | 1,200 | 0 |",
        "| max words | 20 | 1 |",
        "| selected | 280 | 89 |",
    ]
    assert "2022" not in selection_funnel_table({})


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(5, 2, 4), (5, 2, 4)], "2 snapshots with documents, queries and relevance judgements"),
        (
            [(0, 2, 4), (0, 2, 0)],
            "2 snapshots with queries and relevance judgements (in 1 of them), without documents",
        ),
        ([(5, 2, 0)], "1 snapshot with documents and queries, without relevance judgements"),
        ([(0, 2, 0)], "1 snapshot with queries, without documents and relevance judgements"),
    ],
)
def test_the_card_of_a_release_claims_only_what_it_has(
    rows: list[tuple[int, int, int]], expected: str
) -> None:
    """Every release had documents, the same topics, and judgements derived from clicks."""
    names = [f"2022-{number:02}" for number in range(1, len(rows) + 1)]
    tables = {
        f"snapshots/{name}/{kind}": {"rows": count}
        for name, counts in zip(names, rows, strict=True)
        for kind, count in zip(("documents", "queries", "qrels"), counts, strict=True)
    }
    definition = {
        "collection": {"licence": "as stated by the release"},
        "snapshots": [{"name": name} for name in names],
        "imported": {"layout": "longeval-web"},
    }
    assert describe_collection(definition, tables) == (
        f"A longitudinal test collection for information retrieval: {expected}, imported from a "
        "release. Licence: as stated by the release."
    )
