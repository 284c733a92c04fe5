"""Records on which a reader fails are rejects, unless the process itself must end."""

import pytest

from builder.ingest.rejects import RejectError, value_or_reject_reason


def _raise(error: BaseException) -> None:
    raise error


def test_a_record_is_its_value_or_a_reject_reason() -> None:
    assert value_or_reject_reason(lambda: 7) == 7
    assert value_or_reject_reason(lambda: _raise(RejectError("bad_time"))) == "bad_time"
    for error in (ValueError("x"), RecursionError(), BaseException()):
        assert value_or_reject_reason(lambda raised=error: _raise(raised)) == "unreadable_page"


@pytest.mark.parametrize(
    "error", [MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit, ZeroDivisionError]
)
def test_errors_that_end_the_process_or_are_asked_for_are_raised(
    error: type[BaseException],
) -> None:
    with pytest.raises(error):
        value_or_reject_reason(lambda: _raise(error()), (ArithmeticError,))
