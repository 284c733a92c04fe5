"""Text tables as commands print them."""

from builder.cli.output import format_table


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
