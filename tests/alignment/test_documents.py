"""What happened to documents, on a handful of pages."""

from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pytest

from builder.alignment import moved_pages
from builder.parameters import ChangeParameters
from builder.text.keys import doc_id, key64, url_key
from schemas import DocumentChanges

Align = Callable[..., tuple[Any, dict[str, pl.DataFrame]]]

TEXT = (
    "Le conseil municipal se réunit chaque premier lundi du mois à la mairie ; la séance est "
    "publique et le compte rendu est affiché sous huit jours devant la porte principale."
)
OTHER = (
    "Pour renouveler une carte nationale d'identité il faut une photographie récente, un "
    "justificatif de domicile, l'ancienne carte et un rendez-vous pris au moins un mois avant."
)


def identifier(url: str) -> str:
    return doc_id(key64(url_key(url)))


def of(changes: pl.DataFrame, url: str) -> dict[str, Any]:
    return changes.row(by_predicate=pl.col("doc_id") == identifier(url), named=True)


def test_every_status(align: Align) -> None:
    a, b, c, d, e = (f"https://site.fr/{name}" for name in "abcde")
    ledger, tables = align(
        [(a, "A", TEXT), (b, "B", TEXT), (c, "C", "un deux")],
        [(a, "A", TEXT), (b, "B", OTHER), (d, "D", "un"), (e, "E", "sept")],
        earlier=[[(e, "E", "trois")], [(a, "A", "quatre")]],
    )
    changes = tables["document_changes"]
    statuses = {url: of(changes, url)["status"] for url in (a, b, c, d, e)}
    assert statuses == {a: "unchanged", b: "updated", c: "removed", d: "added", e: "returned"}
    assert ledger.unit == "document ids"
    assert (ledger.rows_in, ledger.rows_out, changes.height) == (5, 5, 5)
    assert tables["rejects"].height == 0
    assert changes["doc_id"].is_sorted()
    assert changes["from_snapshot"].unique().to_list() == ["2022-06"]
    assert changes["to_snapshot"].unique().to_list() == ["2022-09"]
    assert changes["crawled"].null_count() == 5
    DocumentChanges.validate(changes)


def test_an_unchanged_document_may_differ_in_punctuation(align: Align) -> None:
    url = "https://site.fr/a"
    _, tables = align([(url, "Titre", "Un, deux.")], [(url, "titre", "un deux")])
    row = of(tables["document_changes"], url)
    assert (row["status"], row["text_changed"]) == ("unchanged", True)
    assert row["dice"] is None
    assert row["band"] is None


def test_a_new_title_is_an_update(align: Align) -> None:
    url = "https://site.fr/a"
    _, tables = align([(url, "Ancien", "un deux trois")], [(url, "Nouveau", "un deux trois")])
    row = of(tables["document_changes"], url)
    assert (row["status"], row["text_changed"]) == ("updated", False)
    assert row["dice"] == 2 * 3 / 8


def test_degree_of_an_update(align: Align) -> None:
    url = "https://site.fr/a"
    _, tables = align([(url, "", "a b c d e f g")], [(url, "", "a b c d e f h")])
    row = of(tables["document_changes"], url)
    assert row["dice"] == 2 * 6 / 14
    assert row["shingle_jaccard"] == 2 / 4  # abcde bcdef cdefg / abcde bcdef cdefh
    assert (row["tokens_from"], row["tokens_to"], row["band"]) == (7, 7, "edited")


@pytest.mark.parametrize(
    ("cosmetic", "rewritten", "band"),
    [(0.5, 0.5, "cosmetic"), (0.51, 0.5, "edited"), (0.6, 0.51, "rewritten")],
)
def test_bands_begin_at_their_thresholds(
    align: Align, cosmetic: float, rewritten: float, band: str
) -> None:
    url = "https://site.fr/a"
    _, tables = align(
        [(url, "", "a b c d e f g")],
        [(url, "", "a b c d e f h")],
        cosmetic=cosmetic,
        rewritten=rewritten,
    )
    assert of(tables["document_changes"], url)["band"] == band


def test_shingle_size_is_a_parameter(align: Align) -> None:
    url = "https://site.fr/a"
    _, tables = align([(url, "", "a b c d")], [(url, "", "a b c e")], shingle=2)
    assert of(tables["document_changes"], url)["shingle_jaccard"] == 2 / 4


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("http://site.fr/a", "https://site.fr/a"),
        ("https://www.site.fr/a", "https://site.fr/a/"),
        ("http://www.site.fr/a/?q=1", "https://site.fr/a?q=1"),
    ],
)
def test_a_loose_match_is_one_page_at_another_form_of_its_address(
    align: Align, before: str, after: str
) -> None:
    _, tables = align([(before, "", "un deux")], [(after, "", "un, deux")])
    changes = tables["document_changes"]
    gone, came = of(changes, before), of(changes, after)
    assert (gone["status"], came["status"]) == ("removed", "added")
    assert gone["matched_by"] == came["matched_by"] == "loose"
    assert (gone["matched_id"], came["matched_id"]) == (identifier(after), identifier(before))
    assert gone["text_changed"] is True


def test_a_loose_match_needs_the_same_path(align: Align) -> None:
    _, tables = align([("http://site.fr/a", "", "un")], [("https://site.fr/b", "", "deux")])
    assert tables["document_changes"]["matched_by"].to_list() == [None, None]


def test_loose_matches_are_one_to_one(align: Align) -> None:
    before = [("http://site.fr/a", "", "un"), ("http://www.site.fr/a", "", "deux")]
    after = [("https://site.fr/a", "", "un")]
    _, tables = align(before, after)
    matched = tables["document_changes"].filter(pl.col("matched_by") == "loose")
    assert set(matched["doc_id"]) == {identifier(before[0][0]), identifier(after[0][0])}


def test_pages_with_equal_loose_keys_are_matched_in_order_of_their_addresses(align: Align) -> None:
    before = [("http://site.fr/a", "", "un"), ("http://www.site.fr/a", "", "deux")]
    after = [("https://site.fr/a", "", "trois"), ("https://www.site.fr/a", "", "un")]
    changes = align(before[::-1], after[::-1])[1]["document_changes"]
    for (old, _, _), (new, _, _), text_changed in zip(before, after, (True, True), strict=True):
        assert of(changes, old)["matched_id"] == identifier(new)
        assert of(changes, new)["matched_id"] == identifier(old)
        assert of(changes, new)["text_changed"] is text_changed


def test_a_page_moves_only_if_it_is_nearest_to_its_nearest() -> None:
    """Of equally near pages, that with the smaller id is the nearest."""
    similarities = [
        ("r1", "a1", 0.9),
        ("r1", "a2", 0.95),
        ("r2", "a3", 0.97),
        ("r2", "a2", 0.97),
        ("r4", "a4", 0.8),
        ("r3", "a4", 0.8),
    ]
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE matches (removed_id VARCHAR, added_id VARCHAR, matched_by VARCHAR, "
        "text_changed BOOLEAN)"
    )
    connection.execute(moved_pages.SIMILARITIES)
    connection.executemany("INSERT INTO similarities VALUES (?, ?, ?)", similarities)
    hashes = {"removed": ("t1", "same", "t3", "t4"), "added": ("u1", "same", "u3", "u4")}
    for side, texts in hashes.items():
        rows = ", ".join(f"('{side[0]}{n}', '{text}')" for n, text in enumerate(texts, 1))
        connection.execute(
            f"CREATE TABLE {side}_texts AS FROM (VALUES {rows}) AS t (doc_id, text_hash)"
        )
    connection.execute(moved_pages.NEAREST)
    assert set(connection.execute("FROM matches").fetchall()) == {
        ("r2", "a2", "moved", False),
        ("r3", "a4", "moved", True),
    }


@pytest.mark.parametrize(("moved", "kept"), [(0.5, ["a"]), (0.51, [])])
def test_pages_are_as_similar_as_their_shingles(moved: float, kept: list[str]) -> None:
    """Two of four shingles are common; the other page has none of them."""
    candidates = pl.DataFrame(
        {
            "removed_id": ["r", "r"],
            "added_id": ["a", "b"],
            "removed_text": ["a b c d e f g"] * 2,
            "added_text": ["a b c d e f h", "x y z"],
        }
    )
    params = ChangeParameters(shingle=5, moved=moved)
    found = moved_pages.keep_similar_pairs(candidates, params)
    assert found.rows() == [("r", added, 0.5) for added in kept]


@pytest.mark.parametrize(("edit", "match"), [("", "moved"), (" Merci.", "moved")])
def test_a_moved_page_keeps_its_text(align: Align, edit: str, match: str) -> None:
    old, new = "https://site.fr/2021/avis", "https://site.fr/archives/avis.html"
    _, tables = align(
        [(old, "Avis", TEXT), ("https://site.fr/x", "", OTHER)],
        [(new, "Avis", TEXT + edit), ("https://site.fr/x", "", OTHER)],
    )
    gone, came = of(tables["document_changes"], old), of(tables["document_changes"], new)
    assert (gone["status"], gone["matched_by"], gone["matched_id"]) == (
        "removed",
        match,
        identifier(new),
    )
    assert came["matched_id"] == identifier(old)
    assert gone["text_changed"] is bool(edit)


def test_another_text_has_not_moved(align: Align) -> None:
    _, tables = align([("https://site.fr/a", "", TEXT)], [("https://site.fr/b", "", OTHER)])
    assert tables["document_changes"]["matched_by"].null_count() == 2


def test_a_short_text_identifies_no_page(align: Align) -> None:
    before, after = (
        [("https://site.fr/a", "", "Page introuvable")],
        [("https://site.fr/b", "", "Page introuvable")],
    )
    _, tables = align(before, after)
    assert tables["document_changes"]["matched_by"].null_count() == 2
    _, tables = align(before, after, moved_tokens=2)
    assert tables["document_changes"]["matched_by"].null_count() == 0


def test_a_text_that_other_pages_share_identifies_no_page(align: Align) -> None:
    stays = ("https://site.fr/notice", "", TEXT)
    _, tables = align(
        [stays, ("https://site.fr/a", "", TEXT)], [stays, ("https://site.fr/b", "", TEXT)]
    )
    assert tables["document_changes"]["matched_by"].null_count() == 3


def test_a_page_moves_to_its_nearest_text(align: Align) -> None:
    words = TEXT.split()
    near, nearer = " ".join(words[:-1]), " ".join([*words, "exactement"])
    old, urls = "https://site.fr/a", ("https://site.fr/b", "https://site.fr/c")
    _, tables = align(
        [(old, "", TEXT)],
        [(urls[0], "", near), (urls[1], "", nearer + " ou presque vraiment")],
        moved=0.7,
    )
    assert of(tables["document_changes"], old)["matched_id"] == identifier(urls[0])
    assert of(tables["document_changes"], urls[1])["matched_by"] is None


def test_moved_is_a_threshold(align: Align) -> None:
    edited = TEXT.replace("principale", "latérale")
    before, after = [("https://site.fr/a", "", TEXT)], [("https://site.fr/b", "", edited)]
    _, strict = align(before, after, moved=1.0)
    _, lenient = align(before, after, moved=0.9)
    assert strict["document_changes"]["matched_by"].null_count() == 2
    assert lenient["document_changes"]["matched_by"].to_list() == ["moved", "moved"]


@pytest.mark.parametrize("side", ["before", "after", "both"])
def test_an_empty_snapshot(align: Align, side: str) -> None:
    page = [("https://site.fr/a", "", TEXT)]
    before, after = (
        ([] if side in ("before", "both") else page),
        ([] if side in ("after", "both") else page),
    )
    ledger, tables = align(before, after)
    expected = {"before": ["added"], "after": ["removed"], "both": []}[side]
    assert tables["document_changes"]["status"].to_list() == expected
    assert ledger.rows_in == ledger.rows_out == len(expected)


def test_a_document_without_words(align: Align) -> None:
    url = "https://site.fr/a"
    _, tables = align([(url, "", "?!")], [(url, "", "un")])
    row = of(tables["document_changes"], url)
    assert (row["dice"], row["shingle_jaccard"], row["band"]) == (0.0, 0.0, "rewritten")
