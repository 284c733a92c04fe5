"""Pools, sheets and their way back."""

import html
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.errors import FormatError, UsageError
from builder.io.sources import Source
from builder.judging import (
    LONGEVAL_STRATA,
    Stratum,
    depth_strata,
    draw_pool,
    import_assessments,
    pool_runs,
    read_assessments,
    write_sheet,
)
from builder.judging.merging import read_majority_votes
from schemas import Judgements, PooledPairs

HOSTILE = '</script><script>alert(1)</script> & "quoted"\u2028\tnext\r\nline'


def query_id(number: int) -> str:
    """A query id."""
    return f"q{number:016x}"


def doc_id(number: int) -> str:
    """A document id."""
    return f"d{number:016x}"


QUERIES = pl.LazyFrame({"query_id": [query_id(n) for n in range(40)], "text": ["=1+1"] * 40})
DOCUMENTS = pl.LazyFrame(
    {
        "doc_id": [doc_id(n) for n in range(300)],
        "url": [f"https://example.org/{n}" for n in range(300)],
        "title": ["- minus"] * 300,
        "text": [HOSTILE] * 300,
    }
)


def run_file(path: Path, rankings: dict[int, list[int]], *, ranks_lie: bool = False) -> Path:
    """A run; with `ranks_lie` only its scores are right."""
    lines = [
        f"{query_id(query)} Q0 {doc_id(doc)} {1 if ranks_lie else rank} {-rank} tag"
        for query, docs in rankings.items()
        for rank, doc in enumerate(docs, start=1)
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_depth_pool_takes_the_top_of_every_run(tmp_path: Path) -> None:
    runs = [
        run_file(tmp_path / "a", {1: [10, 11, 12], 2: [10]}),
        run_file(tmp_path / "b", {1: [12, 10, 13]}, ranks_lie=True),
    ]
    pool = draw_pool(runs, queries=QUERIES, documents=DOCUMENTS, strata=depth_strata(2))
    PooledPairs.validate(pool.pairs)
    assert pool.pairs.select("query_id", "doc_id", "rank", "runs").rows() == [
        (query_id(1), doc_id(10), 1, 2),
        (query_id(1), doc_id(11), 2, 1),
        (query_id(1), doc_id(12), 1, 1),
        (query_id(2), doc_id(10), 1, 1),
    ]
    assert pool.eligible == 4


def test_equal_scores_rank_the_greater_id_first(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text(
        "".join(f"{query_id(1)} Q0 {doc_id(doc)} 1 0.5 t\n" for doc in (3, 5, 4)), "utf-8"
    )
    pool = draw_pool([run], queries=QUERIES, documents=DOCUMENTS, strata=depth_strata(3))
    assert dict(pool.pairs.select("doc_id", "rank").rows()) == {
        doc_id(5): 1,
        doc_id(4): 2,
        doc_id(3): 3,
    }


def big_run(tmp_path: Path) -> Path:
    """Forty queries with forty documents each."""
    rankings = {query: [(query * 7 + k) % 300 for k in range(40)] for query in range(40)}
    return run_file(tmp_path / "big", rankings)


def test_stratified_pool_takes_its_shares(tmp_path: Path) -> None:
    pool = draw_pool([big_run(tmp_path)], queries=QUERIES, documents=DOCUMENTS)
    counts = dict(pool.pairs.group_by("stratum").len().rows())
    assert pool.eligible == 40 * 30
    assert counts["1-5"] == 200
    assert counts["6-10"] == pytest.approx(100, abs=25)  # 200 tossed at 1/2: 3.5 sigma
    assert counts["11-30"] == pytest.approx(200, abs=45)  # 800 tossed at 1/4: 3.7 sigma


def test_samples_are_nested_and_depend_on_the_seed(tmp_path: Path) -> None:
    run = big_run(tmp_path)

    def drawn(share: float, seed: str = "a") -> set[Any]:
        strata = (Stratum(1, 30, share),)
        pool = draw_pool([run], queries=QUERIES, documents=DOCUMENTS, strata=strata, seed=seed)
        return set(pool.pairs.select("query_id", "doc_id").rows())

    assert drawn(0.1) < drawn(0.3) < drawn(1.0)
    assert drawn(0.3) != drawn(0.3, "b")


def test_excluded_pairs_are_counted(tmp_path: Path) -> None:
    run = run_file(tmp_path / "run", {1: [10, 11, 999], 77: [10, 11]})
    judged = pl.LazyFrame(
        [(query_id(1), doc_id(10), "ann", 1), (query_id(2), doc_id(11), "ann", 1)],
        schema=Judgements.dtypes(),
        orient="row",
    )
    pool = draw_pool(
        [run], queries=QUERIES, documents=DOCUMENTS, strata=depth_strata(5), judgements=judged
    )
    assert pool.pairs["doc_id"].to_list() == [doc_id(11)]
    assert (pool.unknown_queries, pool.unknown_documents, pool.judged) == (2, 1, 1)


def test_malformed_run_is_reported_with_line(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("a Q0 b 1 1 tag\nq Q0 d 1 high tag\n", "utf-8")
    with pytest.raises(FormatError, match="line 2: expected a number as score, found 'high'"):
        draw_pool([run], queries=QUERIES, documents=DOCUMENTS)


def test_invalid_pool_arguments(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least one run"):
        draw_pool([], queries=QUERIES, documents=DOCUMENTS)
    with pytest.raises(UsageError, match="cannot open file"):
        draw_pool([tmp_path / "none"], queries=QUERIES, documents=DOCUMENTS)
    overlapping = (*LONGEVAL_STRATA, Stratum(30, 40, 0.1))
    with pytest.raises(UsageError, match="do not overlap"):
        draw_pool([big_run(tmp_path)], queries=QUERIES, documents=DOCUMENTS, strata=overlapping)
    with pytest.raises(UsageError, match="expected a number from 1 to 1000000"):
        depth_strata(0)


PAIRS = pl.DataFrame({"query_id": [query_id(1)] * 3, "doc_id": [doc_id(n) for n in (10, 11, 12)]})


def filled(sheet: Path, *grades: str) -> Path:
    """The sheet with grades written into it, as a person would."""
    header, *rows = sheet.read_text("utf-8").splitlines()
    at = header.split("\t").index("grade")
    cells = [row.split("\t") for row in rows]
    for row, grade in zip(cells, grades, strict=True):
        row[at] = grade
    sheet.write_text("\n".join([header, *("\t".join(row) for row in cells)]) + "\n", "utf-8")
    return sheet


def test_a_sheet_goes_out_and_comes_back(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    assert write_sheet(PAIRS, sheet, queries=QUERIES, documents=DOCUMENTS, assessor="ann") == 3
    report = import_assessments([filled(sheet, "2", "", "0")], tmp_path / "judgements.parquet")
    assert (report.judgements, report.unjudged, report.assessors) == (2, 1, {"ann": 2})
    found = pl.read_parquet(tmp_path / "judgements.parquet")
    Judgements.validate(found)
    assert sorted(found["grade"].to_list()) == [0, 2]
    again = import_assessments([tmp_path / "judgements.parquet"], tmp_path / "again.parquet")
    assert again.judgements == 2


def test_a_pool_becomes_a_sheet_and_a_page_for_each_assessor(tmp_path: Path) -> None:
    out = tmp_path / "judging"
    texts = {"queries": QUERIES, "documents": DOCUMENTS, "strata": depth_strata(2)}
    report = pool_runs([big_run(tmp_path)], out, **texts, assessors=("ann", "bob"))  # type: ignore[arg-type]
    assert sorted(path.name for path in out.iterdir()) == [
        "judge-ann.html",
        "judge-bob.html",
        "pool.parquet",
        "sheet-ann.tsv",
        "sheet-bob.tsv",
    ]
    assert {path.name for path in report.files} == {path.name for path in out.iterdir()}
    assert pl.read_parquet(out / "pool.parquet").equals(report.pool.pairs)
    sheet = filled(out / "sheet-bob.tsv", *["1"] * 80)
    assert import_assessments([sheet], tmp_path / "j.parquet").assessors == {"bob": 80}
    for wrong, message in (
        (("ann", "bob", "ann"), "--assessor: expected distinct names, found ann, bob, ann"),
        (
            ("ann", "../ann"),
            "assessor: expected a name of letters, digits, '.', '_' and '-', found '../ann'",
        ),
    ):
        with pytest.raises(UsageError) as caught:
            pool_runs([big_run(tmp_path)], tmp_path / "none", **texts, assessors=wrong)  # type: ignore[arg-type]
        assert str(caught.value) == message
        assert not (tmp_path / "none").exists()


def test_spreadsheet_bom_quotes_and_crlf_are_accepted(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    sheet.write_bytes(
        b"\xef\xbb\xbf"
        + f'doc_id\tgrade\tquery_id\tassessor\r\n"{doc_id(1)}"\t1\t{query_id(1)}\tann\r\n'.encode()
    )
    assert import_assessments([sheet], tmp_path / "out.parquet").judgements == 1


def test_quoted_cells_may_have_line_breaks_or_tabs(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    sheet.write_text(
        "query_id\tdoc_id\tassessor\tgrade\tnote\ttitle\n"
        f'{query_id(1)}\t{doc_id(1)}\tann\t1\t"two\nlines"\t"a\ttab"\n'
        f'{query_id(1)}\t{doc_id(2)}\tann\t\t"says ""no"""\t\n'
    )
    report = import_assessments([sheet], tmp_path / "out.parquet")
    assert (report.judgements, report.unjudged) == (1, 1)


def test_sheets_have_one_line_per_pair_and_no_formula(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    write_sheet(PAIRS, sheet, queries=QUERIES, documents=DOCUMENTS)
    lines = sheet.read_text("utf-8").split("\n")
    assert len(lines) == 5
    cells = lines[1].split("\t")
    assert len(cells) == 8
    assert cells[4:6] == ["'=1+1", "'- minus"]
    assert not any(cell[:1] in "=+-@" for line in lines[1:4] for cell in line.split("\t") if cell)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query_id\tdoc_id\tgrade\n", "line 1: .*; add assessor"),
        ("", "line 1: .*an empty file"),
        (
            "query_id\tdoc_id\tassessor\tgrade\nq 1\td\tann\t1\n",
            "line 2: query_id: expected an id without spaces",
        ),
        (
            f"query_id\tdoc_id\tassessor\tgrade\n{query_id(1)}\t{doc_id(1)}\tann\t3\n",
            "line 2: grade: expected 0, 1, 2",
        ),
        (
            f"query_id\tdoc_id\tassessor\tgrade\n{query_id(1)}\t{doc_id(1)}\t\t1\n",
            "line 2: assessor: expected a name",
        ),
        (
            f"query_id\tdoc_id\tassessor\tgrade\n{query_id(1)}\t{doc_id(1)}\tann\n",
            "line 2: grade: expected",
        ),
        (
            (
                f"query_id\tdoc_id\tassessor\tgrade\tnote\n{query_id(1)}\t{doc_id(1)}\tann\t1\t\n"
                f'{query_id(1)}\t{doc_id(2)}\tann\t1\t"why\n{query_id(1)}\t{doc_id(3)}\tann\t2\t\n'
            ),
            (
                "line 3: expected a closing quote in every cell that begins with a quote: "
                "unexpected end of data; remove the quotes, or save the sheet with a spreadsheet "
                "program"
            ),
        ),
        (
            (
                f"query_id\tdoc_id\tassessor\tgrade\ttitle\n{query_id(1)}\t{doc_id(1)}\tann\t1\t\n"
                f'\n{query_id(1)}\t{doc_id(2)}\tann\t1\t"Le Monde\n'
                f"{query_id(1)}\t{doc_id(3)}\tann\t2\t\n"
                f'{query_id(1)}\t{doc_id(4)}\tann\t2\tfin 12"\n'
            ),
            (
                "line 4: expected a closing quote in every cell that begins with a quote: a cell "
                "contains the rows up to the next quote; remove the quotes, or save the sheet with "
                "a spreadsheet program"
            ),
        ),
        (
            (
                f"note\tdoc_id\tassessor\tgrade\tquery_id\ttitle\n"
                f'\t{doc_id(1)}\tann\t1\t{query_id(1)}\t"Le Monde\r\n'
                f'fin 12"\t{doc_id(2)}\tann\t1\t{query_id(1)}\t\r\n'
            ),
            "line 2: .*a cell contains the rows up to the next quote",
        ),
        (
            f"query_id\tdoc_id\tassessor\tgrade\tgrade\n{query_id(1)}\t{doc_id(1)}\tann\t1\t\n",
            "line 1: expected one column grade, found 2",
        ),
    ],
)
def test_malformed_sheet_is_reported_with_line(tmp_path: Path, text: str, message: str) -> None:
    sheet = tmp_path / "sheet.tsv"
    sheet.write_text(text, "utf-8")
    with pytest.raises(FormatError, match=message):
        import_assessments([sheet], tmp_path / "out.parquet")


def test_rows_of_empty_cells_are_skipped(tmp_path: Path) -> None:
    """Spreadsheet programs write them below the last row."""
    sheet = tmp_path / "sheet.tsv"
    row = f"{query_id(1)}\t{doc_id(1)}\tann\t1"
    sheet.write_text(f"query_id\tdoc_id\tassessor\tgrade\n{row}\n\t\t\t\n", "utf-8")
    report = import_assessments([sheet], tmp_path / "out.parquet")
    assert (report.judgements, report.unjudged) == (1, 0)


def test_a_comma_separated_sheet_is_named_as_such(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("query_id,doc_id,assessor,grade\n", "utf-8")
    with pytest.raises(FormatError, match="; save the sheet as tab-separated text"):
        import_assessments([sheet], tmp_path / "out.parquet")


def test_malformed_table_is_reported(tmp_path: Path) -> None:
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"nothing")
    with pytest.raises(FormatError, match="expected a Parquet table"):
        import_assessments([bad], tmp_path / "out.parquet")
    pl.DataFrame(
        {"query_id": ["q 1"], "doc_id": [doc_id(1)], "assessor": ["a"], "grade": [1]}
    ).write_parquet(bad)
    with pytest.raises(FormatError, match="expected a table of judgements"):
        import_assessments([bad], tmp_path / "out.parquet")


@pytest.mark.parametrize(
    ("grades", "message"),
    [
        (
            [0.0, 1.7, 2.0, 0.4],
            (
                "grade: expected 0, 1 or 2 in every row, found 1.7 (2 such rows in total); write "
                "one row per assessor instead of mean grades"
            ),
        ),
        (
            [Decimal(1), Decimal("0.5")],
            (
                "grade: expected 0, 1 or 2 in every row, found 0.5 (1 such rows in total); write "
                "one row per assessor instead of mean grades"
            ),
        ),
        (
            [True, False],
            "grade: expected the numbers 0, 1 and 2, found a Boolean column; cast it to integers",
        ),
    ],
)
def test_grades_of_tables_are_whole_numbers(tmp_path: Path, grades: list, message: str) -> None:
    path = tmp_path / "judgements.parquet"
    judged_table(grades).write_parquet(path)
    with pytest.raises(FormatError) as error:
        read_assessments([Source(path, "judgements.parquet")])
    assert str(error.value) == f"judgements.parquet: {message}"


@pytest.mark.parametrize("grades", [[0.0, 2.0], [Decimal("0.0"), Decimal("2.0")], [0, 2]])
def test_whole_grades_of_any_number_type_are_read(tmp_path: Path, grades: list) -> None:
    path = tmp_path / "judgements.parquet"
    judged_table(grades).write_parquet(path)
    found = read_assessments([Source(path, "judgements.parquet")])
    assert found["grade"].to_list() == [0, 2]


def judged_table(grades: list) -> pl.DataFrame:
    """A table of judgements of one assessor."""
    documents = [doc_id(number) for number in range(len(grades))]
    return pl.DataFrame(
        {"query_id": query_id(1), "doc_id": documents, "assessor": "ann", "grade": grades}
    )


def test_sheets_need_texts_and_a_known_suffix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.tsv or \.html"):
        write_sheet(PAIRS, tmp_path / "a.csv", queries=QUERIES, documents=DOCUMENTS)
    few = DOCUMENTS.filter(pl.col("doc_id") != doc_id(10))
    with pytest.raises(UsageError, match="for all 3 pairs, found texts for 2"):
        write_sheet(PAIRS, tmp_path / "a.tsv", queries=QUERIES, documents=few)


def test_text_cannot_leave_its_element(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_sheet(PAIRS, page, queries=QUERIES, documents=DOCUMENTS)
    text = page.read_text("utf-8")
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    assert "alert(1)" in text
    assert "\u2028" not in text
    assert "{{" not in text
    assert "https://" not in text.replace("https://example.org/", "")


def test_sheets_of_an_imported_release_have_its_ids(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    sheet.write_text("query_id\tdoc_id\tassessor\tgrade\nq06223196\t16961\tann\t2\n")
    report = import_assessments([sheet], tmp_path / "out.parquet")
    assert report.judgements == 1
    with pytest.raises(FormatError) as caught:
        read_majority_votes([Source(sheet, "sheet.tsv")])
    assert str(caught.value) == (
        "sheet.tsv: query_id: expected the ids of a built collection (q followed by 16 hexadecimal "
        "digits), found 'q06223196'"
    )
    sheet.write_text(
        "query_id\tdoc_id\tassessor\tgrade\n"
        + "".join(f"{query_id(1)}\t{doc}\tann\t2\n" for doc in (doc_id(1), "8", "16961"))
    )
    more = tmp_path / "more.tsv"
    more.write_text("query_id\tdoc_id\tassessor\tgrade\n")
    with pytest.raises(FormatError) as caught:
        read_majority_votes([Source(sheet, "sheet.tsv"), Source(more, "more.tsv")])
    assert str(caught.value) == (
        "sheet.tsv, more.tsv: doc_id: expected the ids of a built collection (d followed by 16 "
        "hexadecimal digits), found '16961'"
    )
    sheet.write_text("query_id\tdoc_id\tassessor\tgrade\nq 1\t16961\tann\t2\n")
    with pytest.raises(FormatError, match="query_id: expected an id without spaces"):
        import_assessments([sheet], tmp_path / "out.parquet")


@pytest.mark.parametrize(
    ("share", "seed", "drawn"),
    [
        (0.5, {}, [5, 7, 8]),
        (0.25, {}, [5, 7]),
        (0.4375, {}, [5, 7, 8]),
        (0.5, {"seed": "s"}, [1, 4, 5, 6, 7]),
    ],
)
def test_pairs_are_sampled_by_the_hash_of_the_seed_the_query_and_the_document(
    tmp_path: Path, share: float, seed: dict[str, str], drawn: list[int]
) -> None:
    """The MD5 of the default seed and `q1 d5` is 2c..., with d7 30..., with d8 6e...

    With the seed `s` and d1, d4, d5, d6, d7 it is 29..., 60..., 24..., 7a... and 12...
    """
    run = tmp_path / "run"
    run.write_text("".join(f"q1 Q0 d{doc} 1 {-doc} t\n" for doc in range(1, 9)))
    strata = (Stratum(1, 6, share), Stratum(7, 8, share))
    pool = draw_pool([run], **plain_texts(8), strata=strata, **seed)  # type: ignore[arg-type]
    assert pool.pairs["doc_id"].to_list() == [f"d{doc}" for doc in drawn]
    assert pool.pairs["share"].unique().to_list() == [share]
    assert pool.eligible == 8


def test_a_pool_of_an_imported_release_has_the_ids_of_its_judgements(tmp_path: Path) -> None:
    """The release writes document 1 as `doc1` in runs. The two strata are ranks 1 and 2."""
    ids = {"kind": ["document"] * 2, "id": ["1", "2"], "key": ["a", "b"]}
    pl.DataFrame(ids).write_parquet(tmp_path / "release_ids.parquet")
    run = tmp_path / "run"
    run.write_text("q1 Q0 doc2 1 2 t\nq1 Q0 doc1 2 1 t\nq1 Q0 doc9 3 0 t\n")
    texts = {
        "queries": pl.LazyFrame({"query_id": ["q1"], "text": ["eau"]}),
        "documents": pl.LazyFrame({"doc_id": ["1", "2"], "url": "", "title": "", "text": ""}),
    }
    strata = (Stratum(2, 2, 1.0), Stratum(1, 1, 1.0))
    pool = draw_pool([run, run], **texts, strata=strata, snapshot=tmp_path)
    assert pool.pairs.rows() == [("q1", "1", 2, 2, "2-2", 1.0), ("q1", "2", 1, 2, "1-1", 1.0)]
    report = pool_runs([run], tmp_path / "out", **texts, snapshot=tmp_path)
    assert report.pool.pairs["doc_id"].to_list() == ["1", "2"]
    assert draw_pool([run], **texts).unknown_documents == 3


@pytest.mark.parametrize(
    "strata",
    [
        (),
        (Stratum(0, 5, 1.0),),
        (Stratum(3, 2, 1.0),),
        (Stratum(1, 1_000_001, 1.0),),
        (Stratum(1, 5, 0.0),),
        (Stratum(1, 5, 1.01),),
        (Stratum(1, 5, 1.0), Stratum(5, 6, 0.5)),
        (Stratum(5, 6, 0.5), Stratum(1, 5, 1.0)),
    ],
)
def test_strata_that_are_refused(tmp_path: Path, strata: tuple[Stratum, ...]) -> None:
    run = run_file(tmp_path / "run", {1: [10]})
    with pytest.raises(UsageError) as caught:
        draw_pool([run], queries=QUERIES, documents=DOCUMENTS, strata=strata)
    found = ", ".join(f"{s.first}-{s.last} at {s.share:g}" for s in strata)
    assert str(caught.value) == (
        "strata: expected ranges of ranks that start at 1 or later and do not overlap, with "
        f"sampling rates in (0, 1], found {found}"
    )


def test_each_pair_has_its_stratum_and_its_share(tmp_path: Path) -> None:
    run = run_file(tmp_path / "run", {1: [10, 11, 12, 13, 14]})
    strata = (Stratum(3, 4, 1.0), Stratum(1, 1, 1.0))
    pool = draw_pool([run], queries=QUERIES, documents=DOCUMENTS, strata=strata)
    assert pool.pairs.select("doc_id", "rank", "stratum", "share").rows() == [
        (doc_id(10), 1, "1-1", 1.0),
        (doc_id(12), 3, "3-4", 1.0),
        (doc_id(13), 4, "3-4", 1.0),
    ]
    assert (pool.eligible, pool.unknown_queries, pool.unknown_documents, pool.judged) == (
        3,
        0,
        0,
        0,
    )


def test_pools_of_longeval_and_of_a_depth() -> None:
    ranges = [(s.first, s.last, s.share) for s in LONGEVAL_STRATA]
    assert ranges == [(1, 5, 1.0), (6, 10, 0.5), (11, 30, 0.25)]
    assert depth_strata(1) == (Stratum(1, 1, 1.0),)
    assert depth_strata(1_000_000) == (Stratum(1, 1_000_000, 1.0),)
    with pytest.raises(UsageError) as caught:
        depth_strata(1_000_001)
    assert str(caught.value) == "--depth: expected a number from 1 to 1000000, found 1000001"


def test_a_pool_without_names_has_one_sheet(tmp_path: Path) -> None:
    run, out = run_file(tmp_path / "run", {1: [10]}), tmp_path / "out"
    report = pool_runs([run], out, queries=QUERIES, documents=DOCUMENTS)
    names = [path.relative_to(out).as_posix() for path in report.files]
    assert names == ["pool.parquet", "sheet.tsv", "judge.html"]


@pytest.mark.parametrize(
    ("name", "is_valid"),
    [("ann", True), ("A.n-n_1", True), ("a" * 64, True), ("a" * 65, False), ("-a", False)],
)
def test_names_of_assessors(tmp_path: Path, name: str, is_valid: bool) -> None:
    run = run_file(tmp_path / "run", {1: [10]})

    def draw() -> None:
        pool_runs([run], tmp_path, queries=QUERIES, documents=DOCUMENTS, assessors=[name])

    if is_valid:
        draw()
        return
    with pytest.raises(UsageError) as caught:
        draw()
    assert str(caught.value) == (
        f"assessor: expected a name of letters, digits, '.', '_' and '-', found {name!r}"
    )


def test_cells_of_a_sheet(tmp_path: Path) -> None:
    """Texts of at most 600 characters, without quotes and line breaks; nothing is a formula."""
    queries = pl.LazyFrame({"query_id": ["q1"], "text": ["@eau \n  de"]})
    documents = pl.LazyFrame(
        {
            "doc_id": ["d1", "d2"],
            "url": ["https://a.fr", "+b"],
            "title": [None, 'un "bon"\tprix '],
            "text": ["x" * 601, "\u2028-1"],
        }
    )
    pairs = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"]})
    sheet = tmp_path / "new/sheet.tsv"
    write_sheet(pairs, sheet, queries=queries, documents=documents, assessor="ann")
    header, *lines = sheet.read_text("utf-8").splitlines()
    assert header == "query_id\tdoc_id\tassessor\tgrade\tquery\ttitle\turl\ttext"
    assert sorted(lines) == [
        f"q1\td1\tann\t\t'@eau    de\t\thttps://a.fr\t{'x' * 600}",
        "q1\td2\tann\t\t'@eau    de\tun ″bon″ prix\t'+b\t'-1",
    ]


def test_a_page_has_texts_grades_and_the_assessor(tmp_path: Path) -> None:
    queries = pl.LazyFrame({"query_id": ["q1"], "text": ["eau"]})
    documents = pl.LazyFrame(
        {"doc_id": ["d1"], "url": ["u"], "title": ["<t>"], "text": ["x" * 20_001]}
    )
    pairs = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"]})
    page = tmp_path / "judge.html"
    write_sheet(pairs, page, queries=queries, documents=documents, assessor="ann")
    text = page.read_text("utf-8")
    assert '"assessor":"ann"' in text
    assert (
        '"pairs":[{"query_id":"q1","doc_id":"d1","query":"eau","url":"u",'
        f'"title":"\\u003ct\\u003e","text":"{"x" * 20_000}"}}]'
    ) in text


def plain_texts(documents: int) -> dict[str, pl.LazyFrame]:
    """Texts of queries `q1` and `q2` and documents `d1`, `d2` and so on."""
    ids = [f"d{number}" for number in range(1, documents + 1)]
    return {
        "queries": pl.LazyFrame({"query_id": ["q1", "q2"], "text": ["eau", "feu"]}),
        "documents": pl.LazyFrame({"doc_id": ids, "url": "u", "title": None, "text": "t"}),
    }


def test_assessors_see_the_documents_of_a_query_in_the_order_of_their_hashes(
    tmp_path: Path,
) -> None:
    """By MD5, `q1 d4` is 12..., `q1 d1` 63..., `q1 d3` 8e..., `q1 d2` af...; `q2 d1` 81...; etc."""
    pairs = pl.DataFrame(
        [(query, f"d{doc}") for doc in (1, 2, 3, 4) for query in ("q2", "q1")],
        schema=["query_id", "doc_id"],
        orient="row",
    )
    sheet = tmp_path / "sheet.tsv"
    for given in (pairs, pairs.reverse()):
        write_sheet(given, sheet, **plain_texts(4))
        _, *lines = sheet.read_text("utf-8").splitlines()
        assert [" ".join(line.split("\t")[:2]) for line in lines] == [
            *("q1 d4", "q1 d1", "q1 d3", "q1 d2"),
            *("q2 d1", "q2 d4", "q2 d3", "q2 d2"),
        ]


def test_the_pool_of_a_page_has_an_id_and_the_names_of_the_grades(tmp_path: Path) -> None:
    """The id, under which a browser keeps judgements, is the MD5 of `q1 d1|q1 d3`."""
    pairs = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d3", "d1"], "rank": [1, 2]})
    page = tmp_path / "new" / "folder" / "judge.html"
    assert write_sheet(pairs, page, **plain_texts(3)) == 2
    text = html.unescape(page.read_text("utf-8"))
    pool = text.partition('<script type="application/json" id="pool">')[2]
    texts = {"query": "eau", "url": "u", "title": None, "text": "t"}
    assert json.loads(pool.partition("</script>")[0]) == {
        "pool": "329048bfded85b06",
        "assessor": "",
        "grades": {"0": "not relevant", "1": "relevant", "2": "highly relevant"},
        "pairs": [{"query_id": "q1", "doc_id": doc, **texts} for doc in ("d1", "d3")],
    }
    assert (
        "default-src 'none'; connect-src 'none'; form-action 'none'; base-uri 'none'; style-src "
    ) in text
    assert "<title>Relevance judging</title>" in text


def test_characters_that_end_an_element_or_a_line_are_escaped_in_a_page(tmp_path: Path) -> None:
    pairs = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"]})
    texts = plain_texts(1)
    texts["queries"] = texts["queries"].with_columns(text=pl.lit("<é>&\u2028\u2029"))
    page = tmp_path / "judge.html"
    write_sheet(pairs, page, **texts)
    assert r'"query":"\u003cé\u003e\u0026\u2028\u2029",' in page.read_text("utf-8")


def test_what_an_import_refuses(tmp_path: Path) -> None:
    sheet, out = tmp_path / "sheet.tsv", tmp_path / "out.parquet"
    with pytest.raises(UsageError) as usage:
        import_assessments([sheet], tmp_path / "out.tsv")
    message = f"--out: expected a file name ending in .parquet, found {tmp_path}/out.tsv"
    assert str(usage.value) == message
    with pytest.raises(UsageError) as usage:
        import_assessments([sheet], out)
    assert str(usage.value) == (
        f"{sheet}: file not found; expected a judging sheet (TSV) or a Parquet table of judgements"
    )
    sheet.write_text("query_id\tdoc_id\tassessor\tgrade\nq1\td1\tann\t1\nq1\td1\tbob\t1\n")
    assert import_assessments([sheet], out).assessors == {"ann": 1, "bob": 1}
    with pytest.raises(FormatError) as caught:
        import_assessments([sheet, out], out)
    assert str(caught.value) == (
        f"{sheet}, {out}: expected one judgement per assessor and pair, found several by ann for "
        "query q1 and document d1 (4 such rows in total); keep one"
    )


def test_the_majority_decides_and_a_tie_is_the_lower_grade(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    grades = {
        1: ["2", "2", "0"],
        2: ["2", "1", ""],
        3: ["0", "1", "2"],
        4: ["", "", "2"],
    }
    lines = [
        f"{query_id(1)}\t{doc_id(doc)}\t{who}\t{grade}"
        for doc, row in grades.items()
        for who, grade in zip(("ann", "bob", "cy"), row, strict=True)
    ]
    sheet.write_text("\n".join(["query_id\tdoc_id\tassessor\tgrade", *lines]) + "\n")
    found = read_majority_votes([Source(sheet, "sheet.tsv")])
    assert found.schema == {"query": pl.UInt64, "doc": pl.UInt64, "manual_grade": pl.UInt8}
    assert sorted(found.rows()) == [(1, 1, 2), (1, 2, 1), (1, 3, 0), (1, 4, 2)]


HEADER = "query_id\tdoc_id\tassessor\tgrade"


ALL = "query_id, doc_id, assessor, grade"


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("query_id\tnote", "query_id, note; add doc_id, assessor, grade"),
        ("query_id,doc_id,grade", f"query_id,doc_id,grade; add {ALL}"),
        ("query_id,doc_id,assessor,grade\tx", f"query_id,doc_id,assessor,grade, x; add {ALL}"),
        ("x" * 201, f"{'x' * 200}; add {ALL}"),
        ("", f"an empty file; add {ALL}"),
    ],
)
def test_columns_that_are_missing_from_a_sheet(tmp_path: Path, header: str, found: str) -> None:
    sheet = tmp_path / "sheet.tsv"
    sheet.write_text(header)
    with pytest.raises(FormatError) as caught:
        read_assessments([Source(sheet, "sheet.tsv")])
    assert str(caught.value) == (
        f"sheet.tsv, line 1: expected the tab-separated columns {ALL}, found {found}"
    )


GRADE = "grade: expected 0, 1, 2 or an empty cell, found"
QUOTE = (
    "expected a closing quote in every cell that begins with a quote: a cell contains the rows up "
    "to the next quote; remove the quotes, or save the sheet with a spreadsheet program"
)
UTF_8 = (
    "expected tab-separated UTF-8 text: 'utf-8' codec can't decode byte 0xe9 in position 51: "
    "invalid continuation byte; save the sheet in UTF-8"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\tgrade\tgrade\n", ", line 1: expected one column grade, found 3"),
        (f"\nq1\td1\tann\t{'x' * 41}\n", f", line 2: {GRADE} {'x' * 40!r}"),
        ("\nq1\td1\tann\n", f", line 2: {GRADE} ''"),
        (
            '\tnote\n\n\t\nq1\td1\tann\t1\t"a\nb"\nq1\td2\tann\t12\t\n',
            f", line 6: {GRADE} '12'",
        ),
        ('\tnote\rq1\td1\tann\t1\t"a\rq1\td2\tann\t2\tb"\r', f", line 2: {QUOTE}"),
        ("\tnote\nq1\td1\tann\t1\tcaf\xe9\n", f": {UTF_8}"),
    ],
)
def test_rows_of_a_sheet_that_are_malformed(tmp_path: Path, text: str, message: str) -> None:
    sheet = tmp_path / "sheet.tsv"
    sheet.write_bytes((HEADER + text).encode("latin-1"))
    with pytest.raises(FormatError) as caught:
        read_assessments([Source(sheet, "sheet.tsv")])
    assert str(caught.value) == f"sheet.tsv{message}"


def test_cells_of_a_sheet_may_have_spaces_and_tables_may_have_more_columns(tmp_path: Path) -> None:
    sheet, table = tmp_path / "sheet.tsv", tmp_path / "table.parquet"
    sheet.write_text(f"{HEADER}\nq2\td1\tbob\t2\n q1 \td1\tann \t 1\nq1\td2\tann\t \n")
    columns = {"note": [0], "assessor": ["cy"], "grade": [1], "doc_id": ["d1"], "query_id": ["q1"]}
    pl.DataFrame(columns).write_parquet(table)
    found = read_assessments([Source(sheet, "sheet.tsv"), Source(table, "table.parquet")])
    assert found.schema == Judgements.dtypes()
    assert found.rows() == [("q2", "d1", "bob", 2), ("q1", "d1", "ann", 1), ("q1", "d1", "cy", 1)]
    assert read_assessments([]).schema == Judgements.dtypes()
    out = tmp_path / "out.parquet"
    report = import_assessments([sheet, table], out)
    assert (report.judgements, report.unjudged) == (3, 1)
    assert list(report.assessors.items()) == [("ann", 1), ("bob", 1), ("cy", 1)]
    pl.read_parquet(table).drop("grade").write_parquet(table)
    with pytest.raises(FormatError, match=r"^table\.parquet: expected a table of judgements: "):
        read_assessments([Source(table, "table.parquet")])


def test_a_row_with_a_line_break_may_lack_its_last_cells(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    row = f'{query_id(1)}\t{doc_id(1)}\tann\t1\t"two\nlines"'
    sheet.write_text(f"query_id\tdoc_id\tassessor\tgrade\tnote\ttitle\n{row}\n")
    assert import_assessments([sheet], tmp_path / "out.parquet").judgements == 1
