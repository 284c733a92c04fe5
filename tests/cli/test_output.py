"""Text tables as commands print them."""

from collections import Counter

import pytest

from builder.cli.output import format_table, print_step_result, print_step_warning
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
