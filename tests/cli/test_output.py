"""Text tables as commands print them."""

from collections import Counter

import polars as pl
import pytest

from builder.cli.options import OutputFormat
from builder.cli.output import (
    escape_control_characters,
    format_row_counts,
    format_table,
    print_data_frames,
    print_rows,
    print_step_result,
    print_step_warning,
)
from builder.pipeline import STAGES
from builder.runtime.ledger import RowLedger
from builder.runtime.plan import Step
from builder.runtime.runner import StepResult


def test_columns_of_numbers_are_right_aligned() -> None:
    rows = [
        ("2022-06", "0.4730", 12, None, "100.0 %", "4.9e-05", "unknown", "1 of 3"),
        ("2022-07", "-0.1636", 1234, "-0.5", "< 0.1 %", None, 12, "3"),
    ]
    header = ("snapshot", "mean", "n", "drop", "share", "p", "not kept", "steps")
    assert format_table(rows, header).splitlines() == [
        "snapshot     mean      n  drop    share        p  not kept  steps",
        "2022-06    0.4730     12     -  100.0 %  4.9e-05   unknown  1 of 3",
        "2022-07   -0.1636  1,234  -0.5  < 0.1 %        -        12  3",
    ]


@pytest.mark.parametrize(
    ("stage", "rows_in", "rows_out", "warning"),
    [
        ("log", 3, 2, ""),
        ("log", 3, 0, "NO ROWS WERE KEPT"),
        ("log", 0, 0, "THE INPUT WAS EMPTY"),
        ("crawl", 0, 0, "THE INPUT WAS EMPTY"),
        ("verdicts", 0, 0, ""),
    ],
)
def test_a_step_without_rows_is_warned_of(
    stage: str, rows_in: int, rows_out: int, warning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rejected = Counter({"bad_url": rows_in - rows_out}) if rows_in > rows_out else Counter()
    ledger = RowLedger("records", rows_in, rows_out, rejected, ["read as windows-1252\x1b"])
    step = Step(next(each for each in STAGES if each.name == stage), "2022-06")
    result = StepResult(step, ("not built yet",), ledger, 1.25)
    print_step_warning(result)
    assert capsys.readouterr().err == (f"{f'{stage} 2022-06':<24} {warning}\n" if warning else "")
    print_step_result(result)
    reasons = f" + {rows_in - rows_out} rejected (bad_url {rows_in - rows_out})" if rejected else ""
    says = f"; {warning}" if warning else ""
    assert capsys.readouterr().out.splitlines() == [
        f"{f'{stage} 2022-06':<24} {rows_in} records = {rows_out} kept{reasons}{says}  1.2 s",
        f"{'':<24} note: read as windows-1252\\x1b",
    ]


@pytest.mark.parametrize(
    ("rejected", "text"),
    [
        ({}, "1,234 lines = 1,200 kept"),
        ({"bad_url": 0}, "1,234 lines = 1,200 kept"),
        (
            {"bad_url": 1001, "bad_time": 33, "bad_text": 0},
            "1,234 lines = 1,200 kept + 1,034 rejected (bad_time 33, bad_url 1,001)",
        ),
    ],
)
def test_rejected_rows_are_counted_by_reason(rejected: dict[str, int], text: str) -> None:
    assert format_row_counts(RowLedger("lines", 1234, 1200, Counter(rejected))) == text


@pytest.mark.parametrize(
    ("count", "text"), [(1, "a"), (3, "a; b; c"), (4, "a; b; c; and 1 more"), (0, "")]
)
def test_three_reasons_of_a_step_are_named(
    count: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    step = Step(STAGES[0], "all")
    print_step_result(StepResult(step, tuple("abcd"[:count]), RowLedger("lines", 2, 2), 0.25))
    assert capsys.readouterr().out == (
        f"{f'{STAGES[0].name} all':<24} 2 lines = 2 kept  0.2 s  [{text}]\n" if count else ""
    )


def test_control_characters_are_escaped_unless_they_are_kept() -> None:
    assert escape_control_characters("é\x1b[31m\n\t\u200b") == "é\\x1b[31m\\n\\t\\u200b"
    assert escape_control_characters("a\nb\tc", keep="\n") == "a\nb\\tc"


def test_rows_are_a_table_of_rounded_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"name{n:02}" for n in range(13)]
    print_rows([{"names": names, "score": 0.25, "n": 1234}, {"names": [], "score": None, "n": 5}])
    listed = ", ".join(names[:10])  # 78 characters of 80, and then ", "
    assert capsys.readouterr().out.splitlines() == [
        f"{'names':<80}   score      n",
        f"{listed + ', ':<80}  0.2500  1,234",
        f"{'':<80}       -      5",
    ]
    print_rows([])
    assert capsys.readouterr().out == "(none)\n"


def test_frames_are_printed_as_tables_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    frames = {"été": pl.DataFrame({"a": [1], "b": ["à"]}), "none": pl.DataFrame({"a": []})}
    print_data_frames(OutputFormat.TEXT, **frames)
    assert capsys.readouterr().out == "été\na  b\n1  à\n\nnone\n(none)\n\n"
    print_data_frames(OutputFormat.JSON, **frames)
    assert capsys.readouterr().out == (
        '{\n "été": [\n  {\n   "a": 1,\n   "b": "à"\n  }\n ],\n "none": []\n}\n'
    )


def test_steps_that_did_not_run_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    step = Step(STAGES[0], "all")
    for skipped in (
        StepResult(step, (), RowLedger("lines")),
        StepResult(step, ("an input changed",), None),
        StepResult(step, ("an input changed",), RowLedger("lines"), is_conditional=True),
    ):
        print_step_result(skipped)
        print_step_warning(skipped)
    assert capsys.readouterr() == ("", "")
