"""Counts of faulty texts: every batch is counted, and the first few keys are the examples."""

import polars as pl
import pytest

from builder.collection.checks.texts import TEXT_FAULTS, TextFaultCounts

DOUBLE_SPACE = {"double_space": TEXT_FAULTS["queries"]["double_space"]}

UN = "0674272bac0715f803e382b5aa437e08"
"""MD5 of `un`."""


def batch(*keys: str) -> pl.DataFrame:
    return pl.DataFrame({"query_id": keys, "text": ["deux  mots" for _ in keys]})


def count(*batches: pl.DataFrame) -> TextFaultCounts:
    faults = TextFaultCounts()
    for rows in batches:
        faults.add(rows, DOUBLE_SPACE, ["query_id"], 1)
    return faults


def test_the_examples_are_the_first_three_of_all_batches() -> None:
    faults = count(batch("a", "b"), batch("c", "d", "e"), batch("f"))
    assert faults.counts == {"double_space": 6}
    assert faults.examples == {"double_space": ["a", "b", "c"]}


def test_merged_examples_are_those_of_the_earlier_rows() -> None:
    faults = count(batch("a", "b"))
    faults.merge(count(batch("c", "d")))
    faults.merge(count(batch("e")))
    assert faults.counts == {"double_space": 5}
    assert faults.examples == {"double_space": ["a", "b", "c"]}


ROW: dict[str, object] = {"text": "un", "text_en": "one", "language": "fr", "text_hash": UN}
NINE, EIGHT = "leg " * 9, "leg " * 8


@pytest.mark.parametrize(
    ("fault", "values", "expected"),
    [
        ("empty_english", {"text_en": " \n"}, True),
        ("empty_english", {"text_en": ""}, True),
        ("empty_english", {"text_en": "a"}, False),
        ("empty_english", {"text_en": None}, False),
        ("untranslated", {"text": "e" * 41, "text_en": "e" * 41}, True),
        ("untranslated", {"text": "e" * 40, "text_en": "e" * 40}, False),
        ("untranslated", {"text": "é" * 40, "text_en": "é" * 40}, False),
        ("untranslated", {"text": "e" * 41, "text_en": "e" * 42}, False),
        ("untranslated", {"text": "e" * 41, "text_en": "e" * 41, "language": "en"}, False),
        ("untranslated", {"text": "e" * 41, "text_en": "e" * 41, "language": None}, False),
        ("untranslated", {"text": "e" * 41, "text_en": None}, False),
        ("runaway_english", {"text_en": NINE}, True),
        ("runaway_english", {"text_en": "Leg. leg, " * 4 + "LEG"}, True),
        ("runaway_english", {"text_en": EIGHT}, False),
        ("runaway_english", {"text_en": "leg arm " * 9}, False),
        ("runaway_english", {"text_en": NINE, "text": "la la"}, False),
        ("runaway_english", {"text_en": NINE + "leg", "text": "la la"}, True),
        ("runaway_english", {"text_en": None}, False),
        ("runaway_english", {"text_en": ""}, False),
        ("other_text_hash", {}, False),
        ("other_text_hash", {"text": "deux"}, True),
        ("misread", {"text": "Ã©Â°â€"}, True),
        ("misread", {"text": "\ufffd" * 3, "text_en": None}, True),
        ("misread", {"text_en": "\ufffd" * 3}, True),
        ("misread", {"text": "Ã©Ã©", "text_en": "Ã©"}, False),
        ("misread", {"text": "ÃÂ ÃA Âé é"}, False),
        ("markup", {"text": "</p></DIV></span></li></td>"}, True),
        ("markup", {"text": "</p></p></p></p></b><p>"}, False),
    ],
)
def test_faults_of_a_document(fault: str, values: dict[str, object], expected: bool) -> None:
    schema = dict.fromkeys(ROW, pl.String)
    rows = pl.DataFrame([{**ROW, **values}], schema=schema)
    assert rows.select(TEXT_FAULTS["documents"][fault]).to_series().to_list() == [expected]


@pytest.mark.parametrize(
    ("text", "english", "expected"),
    [
        ("eau", "water", []),
        ("eau", None, []),
        ("eau", "eau", ["copied"]),
        ("eau", " ", ["empty_english"]),
        ('"eau', "water", ["leaked_quotes"]),
        ("eau  douce", "water", ["double_space"]),
        (" eau", "water", ["double_space"]),
        ("eau\x01", "water", ["control_character"]),
        ("e" * 500, "water", ["over_long"]),
        ("e" * 499, "water", []),
        ("eau site:a.example", "water", ["search_operator"]),
    ],
)
def test_faults_of_a_query(text: str, english: str | None, expected: list[str]) -> None:
    schema = {"text": pl.String, "text_en": pl.String}
    rows = pl.DataFrame({"text": [text], "text_en": [english]}, schema=schema)
    found = rows.select(**TEXT_FAULTS["queries"]).row(0, named=True)
    assert [name for name, is_faulty in found.items() if is_faulty] == expected


def test_runaway_translations_are_sampled_and_other_faults_are_not() -> None:
    english = [NINE, NINE, None, NINE, NINE]
    rows = pl.DataFrame({"doc_id": list("abcde"), "text": ["un"] * 5, "text_en": english})
    names = ("runaway_english", "empty_english")
    documents = TEXT_FAULTS["documents"]
    empty = documents["empty_english"].not_()
    faults = TextFaultCounts()
    expressions = {"runaway_english": documents["runaway_english"], "empty_english": empty}
    faults.add(rows, expressions, ["doc_id", "text"], 2)
    assert [faults.counts[name] for name in names] == [2, 5]
    assert faults.examples == {
        "runaway_english": ["a un", "e un"],
        "empty_english": ["a un", "b un", "c un"],
    }
    faults = TextFaultCounts()
    faults.add(rows, {}, ["doc_id"], 1)
    assert (faults.counts, faults.examples) == ({}, {})
