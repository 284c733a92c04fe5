"""Names of files, versions and languages."""

import re

import pytest

from builder.errors import DataError
from builder.text import names


@pytest.mark.parametrize(
    ("pattern", "valid", "invalid"),
    [
        (
            names.NAME_PATTERN,
            ["a", "0", "web.fr_2-1", "a" * 64],
            ["", ".a", "-a", "A", "a/b", "a b", "a" * 65],
        ),
        (names.LABEL_PATTERN, ["adult_2", "_"], ["", "Adult", "a-b", "a.b"]),
        (
            names.VERSION_PATTERN,
            ["1.0.0", "0.10.2-rc.1+x", "1.0.0dev2"],
            ["1", "1.0", "v1.0.0", "1.0.0 b", "1.0.0RC"],
        ),
        (names.LANGUAGE_PATTERN, ["fr", "fra"], ["f", "fran", "FR", "f1"]),
    ],
)
def test_names_that_are_valid(pattern: str, valid: list[str], invalid: list[str]) -> None:
    assert [name for name in valid if not re.search(pattern, name)] == []
    assert [name for name in invalid if re.search(pattern, name)] == []


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("snapshot-2", "2"),
        ("crawl_Snapshot012.jsonl", "012"),
        ("snapshot_999", "999"),
        ("mysnapshot-2", None),
        ("snapshot-1234", None),
        ("snapshot--2", None),
    ],
)
def test_a_snapshot_has_a_number_in_its_name(name: str, number: str | None) -> None:
    found = re.search(names.NUMBERED_SNAPSHOT, name)
    assert (found[1] if found else None) == number


def test_bytes_that_are_not_utf8_are_escaped() -> None:
    assert names.to_valid_unicode("é\udce9") == "é\\udce9"


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    given = ["round10", "round2", "round2b1", "a", "round02"]
    expected = ["a", "round2", "round02", "round2b1", "round10"]
    assert sorted(given, key=names.natural_sort_key) == expected


def test_columns_of_the_source_language_have_no_suffix() -> None:
    assert names.column_suffixes([]) == {"fr": ""}
    assert names.column_suffixes(["de"]) == {"de": ""}
    assert names.column_suffixes(["de", "en"]) == {"de": "", "en": "_en"}


@pytest.mark.parametrize("languages", [["fr", "en", "de"], ["en", "en"]])
def test_more_languages_or_the_same_twice_are_refused(languages: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        names.column_suffixes(languages)
    listed = ", ".join(languages)
    assert str(caught.value) == f"expected one or two distinct languages, found {listed}"
