"""Lists in cells of tables, as several programs write them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.ingest.logs.cell_lists import parse_list_cell
from builder.ingest.rejects import RejectError
from builder.io.sources import Source
from builder.parameters import LogParameters
from tests.ingest.logs.log_files import read_impressions


@pytest.mark.parametrize(
    ("cell", "items"),
    [
        ("a b", ["a", "b"]),
        ("", []),
        ("  ", []),
        ('["a b", "c"]', ["a b", "c"]),
        ("[1, 2]", [1, 2]),
        ("[]", []),
        ("[ ]", []),
        ("['a', 'b']", ["a", "b"]),
        ("['a' 'b']", ["a", "b"]),
        ("['a'\n 'b']", ["a", "b"]),
        ("""['it\\'s', "l'eau"]""", ["it's", "l'eau"]),
        ("[1 2  13]", [1, 2, 13]),
        ("[1, 'a']", [1, "a"]),
        ("[('12', 'works'), (7, 'author',)]", [["12", "works"], [7, "author"]]),
        ("('a b', \"c\")", ["a b", "c"]),
        ("( 'a', )", ["a"]),
        ("(('a', 1), ('b', 2))", [["a", 1], ["b", 2]]),
        ("(1, 3)", [1, 3]),
        ("()", []),
        ("(DE-627)12 (DE-627)7", ["(DE-627)12", "(DE-627)7"]),
        ("(1)2 (1)3", ["(1)2", "(1)3"]),
        ("[True, False, None]", [True, False, None]),
        ("[( 'a' )]", [["a"]]),
        ("{}", []),
        ("{a,b}", ["a", "b"]),
        ('{a,"b,c","d\\"e"}', ["a", "b,c", 'd"e']),
        ("{1,2}", [1, 2]),
        ("{NULL,a}", [None, "a"]),
        ("NULL", []),
        ("\\N", []),
        ("nan", []),
        (
            "10.1002/1096;2-1 www.a.fr/x;y,z.html 12",
            ["10.1002/1096;2-1", "www.a.fr/x;y,z.html", "12"],
        ),
        ("http://a?u=http://b http://c/http://d", ["http://a?u=http://b", "http://c/http://d"]),
    ],
)
def test_lists(cell: str, items: list[object]) -> None:
    assert parse_list_cell(cell, " ") == items


@pytest.mark.parametrize(
    "cell",
    [
        "[",
        "['a'",
        "['a', b]",
        "[1, 2] 3",
        "['a\\n']",
        "[a]",
        "{a",
        '{"a": 1}',
        "[1,,2]",
        "{a}b}",
        "[()]",
        "[(1, 2]",
        "('a', 'b'",
        "('a', b)",
        "('a'] ",
        "[((1,),)]",
        "[Truer]",
        "http://a|http://b",
        "http://a;HTTPS://b",
        "http://a,http://b http://c",
        "www.a.fr/x;www.b.fr/y",
        "12;7;9",
        "12|7",
        "12, 7, 9",
        "12\t7",
    ],
)
def test_malformed_lists(cell: str) -> None:
    with pytest.raises(RejectError, match="bad_list"):
        parse_list_cell(cell, " ")


@pytest.mark.parametrize("cell", ["12;7;9", "12; 7 ;9", ";12;;7;9;"])
def test_spaces_around_another_separator(cell: str) -> None:
    assert parse_list_cell(cell, ";") == ["12", "7", "9"]
    assert parse_list_cell("https://a, www.b", ",") == ["https://a", "www.b"]
    with pytest.raises(RejectError, match="bad_list"):
        parse_list_cell("12 7;9", ";")


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C"])) | st.integers(0)))
def test_python_repr_round_trip(items: list[object]) -> None:
    printed = repr(items)
    if "\\" in printed or any(isinstance(item, int) and item >= 10**18 for item in items):
        return  # escapes and numbers that no list of pages has
    assert parse_list_cell(printed, " ") == items


@given(st.text())
def test_any_text_is_a_list_or_a_reject(text: str) -> None:
    for cell in (text, f"[{text}]", f"{{{text}}}"):
        try:
            found = parse_list_cell(cell, " ")
        except RejectError:
            continue
        assert isinstance(found, list)


def test_a_table_written_by_pandas(tmp_path: Path) -> None:
    urls = [f"https://a.example/{n}" for n in (1, 2)]
    rows = [
        ",query,results,clicks",
        f'0,eau,"{urls}",[1]',
        f"""1,pain,"['{urls[0]}' '{urls[1]}']","[1 2]\"""",
        '2,sel,"{' + ",".join(urls) + '}",{2}',
        f'3,sel,"{tuple(urls)}","(2,)"',
        f'4,sel,"{json.dumps(urls).replace(chr(34), chr(34) * 2)}","[""{urls[1]}""]"',
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    found = list(read_impressions(Source(path, "log.csv"), None, LogParameters()))
    batches = [batch for records in found for batch in [records.impressions]]
    pages = [row for batch in batches for row in batch.to_pylist()]
    assert [page["results"] for page in pages] == [urls] * 5
    assert [page["clicks"] for page in pages] == [[1], [1, 2], [2], [2], [2]]


def test_unterminated_tuple_parses_in_linear_time() -> None:
    """A million spaces: a pattern that tries them twice over would take hours."""
    for cell in (
        "[('a'" + " " * 10**6,
        "('a'" + " " * 10**6,
        "[('a'," + "'b', " * 10**5,
        "[(" + "1," * 10**5 + ";",
    ):
        with pytest.raises(RejectError, match="bad_list"):
            parse_list_cell(cell, " ")
    assert parse_list_cell("(" + " 1" * 10**6, " ")[1:] == ["1"] * 10**6
    assert parse_list_cell("[('a'" + " " * 10**6 + ")]", " ") == [["a"]]
