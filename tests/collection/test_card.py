"""The dataset card: what it says depends on the definition, and nothing in it is markup."""

from pathlib import Path

import pytest

import builder
from builder import BuildReport, SimulationParameters
from builder.collection.card import describe_collection
from builder.collection.card_tables import input_file_table, parameter_table, selection_funnel_table
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
        ]
    }
    assert selection_funnel_table(funnels).splitlines() == [
        "| rule | 2022-06 |",
        "|---|--:|",
        "| in the log | 1,500 |",
        "| min users | 1,200 |",
        "| max words | 20 |",
        "| selected | 280 |",
    ]


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
