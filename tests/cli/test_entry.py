"""The entry of the command: arguments, groups without a command, errors and signals."""

import errno
import signal
import sys
import threading
from pathlib import Path

import pytest

import builder
from builder.cli import _report_error, _SignalHandler, main
from builder.cli.arguments import expand_arguments
from builder.errors import (
    DataError,
    DefinitionError,
    FormatError,
    MissingExtraError,
    UsageError,
    suggest,
)
from builder.extras import import_optional_module
from tests.cli.test_cli import run

Captured = pytest.CaptureFixture[str]
GROUPS = (
    *("", "clicks", "topics", "queries", "assess", "translate", "translate model", "runs"),
    *("trend", "classification"),
)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_a_command_shows_its_help(group: str, capsys: Captured) -> None:
    assert run(*group.split()) == 2
    said = capsys.readouterr()
    usage = f"Usage: {' '.join(['longeval', *group.split()])} [OPTIONS] COMMAND [ARGS]..."
    assert usage in said.out + said.err
    assert "Missing command" not in said.err


def test_help_can_be_asked_for_in_short_and_completion_installed(capsys: Captured) -> None:
    assert run("-h") == 0
    shown = capsys.readouterr().out
    assert "--install-completion" in shown
    # names of commands are padded to the longest one, reproducibility, in all sections
    assert f"\n  demo{' ' * 13}Simulate " in shown
    assert "\n  reproducibility  Compare " in shown


def test_arguments_are_those_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "argv", ["program", "--version"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code in (0, None)
    assert capsys.readouterr().out.startswith("longeval-builder ")


def test_tracebacks_are_shown_on_demand() -> None:
    assert run("schema", "qrel") == 2
    with pytest.raises(UsageError, match="no table 'qrel'"):
        main(["--debug", "schema", "qrel"])


@pytest.mark.parametrize(
    ("words", "expanded"),
    [
        ("build w --snapshot a,b c,d", "build w --snapshot a --snapshot b c,d"),
        ("e --split a,b --split c,d", "e --split a --split b --split c --split d"),
        ("e --split a --depth 3 x,y", "e --split a --depth 3 x,y"),
        ("e x,y --split a,b", "e x,y --split a --split b"),
        ("e --split=a,,b", "e --split a --split b"),
        ("e --split=,", "e --split ,"),
        ("e --split= x", "e --split  x"),
        ("e --out=a,b", "e --out=a,b"),
        ("e --quiet a,b", "e --quiet a,b"),
        ("e --measures AP,RR P@5 no/x", "e --measures AP --measures RR --measures P@5 no/x"),
        ("e --measures AP --split a,b P@5", "e --measures AP --split a --split b P@5"),
        ("e --measures=AP P@5", "e --measures AP P@5"),
        ("e --measures runs/x AP c/d", "e --measures runs/x --measures AP c/d"),
        ("s --over nowhere.gz other.gz", "s --over nowhere.gz other.gz"),
    ],
)
def test_lists_of_values_are_repeated_options(words: str, expanded: str) -> None:
    assert expand_arguments(words.split(" ")) == expanded.split(" ")


def test_a_file_with_a_comma_in_its_name_is_one_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a,b").touch()
    Path("AP").touch()
    assert expand_arguments(["e", "--model", "a,b"]) == ["e", "--model", "a,b"]
    assert expand_arguments(["e", "--model", "a,c"]) == ["e", "--model", "a", "--model", "c"]
    words = ["e", "--measures", "RR", "AP"]
    assert expand_arguments(words) == words


def test_a_group_runs_its_default_command_unless_a_command_is_misspelt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("clicks", "nowhere.jsonl", "--out", "o.tsv") == 2
    assert "nowhere.jsonl: file not found" in capsys.readouterr().err
    assert run("clicks", "comparee", "x") == 2
    assert "No such command" in capsys.readouterr().err
    Path("comparee").touch()  # now, it is a file, and no command is misspelt
    assert run("clicks", "comparee", "--out", "o.tsv") == 1
    assert "comparee: expected at least one impression" in capsys.readouterr().err
    assert run("clicks", "--help") == 0
    assert "Commands:" in capsys.readouterr().out


def test_signals_interrupt_and_are_remembered(capsys: Captured) -> None:
    handler = _SignalHandler()
    assert _report_error(KeyboardInterrupt(), handler, [], debug=False) is None
    for number in (signal.SIGINT, signal.SIGTERM):
        with pytest.raises(KeyboardInterrupt):
            handler(number, None)
        assert _report_error(ValueError(), handler, [], debug=True) == 128 + number
    message = "longeval: interrupted; finished stages are kept, run the command again to resume\n"
    assert capsys.readouterr().err == message * 2


def test_signals_are_handled_in_the_main_thread_only() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    handler = _SignalHandler()
    try:
        thread = threading.Thread(target=handler.install)
        thread.start()
        thread.join()
        assert [signal.getsignal(number) for number in numbers] == before
        handler.install()
        assert [signal.getsignal(number) for number in numbers] == [handler, handler]
    finally:
        for number, old in zip(numbers, before, strict=True):
            signal.signal(number, old)


@pytest.mark.parametrize(
    ("error", "debug", "code", "message"),
    [
        (UsageError("a\nb\x1b"), False, 2, "longeval: a\nb\\x1b\n"),
        (DataError("a"), False, 1, "longeval: a\n"),
        (DataError("a"), True, None, ""),
        (ValueError("a"), False, None, ""),
        (SystemExit(3), False, None, ""),
        (
            OSError(errno.ELOOP, "loop", "x"),
            False,
            2,
            "longeval: x: the symbolic links form a loop\n",
        ),
    ],
)
def test_expected_errors_have_a_code_and_others_a_traceback(
    error: BaseException, debug: bool, code: int | None, message: str, capsys: Captured
) -> None:
    assert _report_error(error, _SignalHandler(), ["build", "x"], debug=debug) == code
    assert capsys.readouterr().err == message


def test_errors_about_names_that_are_not_utf8_name_the_argument(capsys: Captured) -> None:
    arguments = ["build", "caf\udce9", "th\udce9"]
    assert _report_error(ValueError(), _SignalHandler(), arguments, debug=False) == 2
    assert capsys.readouterr().err == (
        "longeval: caf\\udce9: expected a path in UTF-8, found invalid bytes; rename the file or "
        "folder\n"
    )
    assert _report_error(SystemExit(), _SignalHandler(), arguments, debug=False) is None


def test_errors_say_where_they_are() -> None:
    assert str(DefinitionError("odd", "w.toml", "log.x")) == "w.toml: log.x: odd"
    assert str(DefinitionError("odd", "w.toml")) == "w.toml: odd"
    assert str(FormatError("odd", "a.tsv", 0)) == "a.tsv, line 0: odd"
    assert str(FormatError("odd", "a.tsv")) == "a.tsv: odd"


def test_the_most_similar_word_is_suggested_or_all_are_listed() -> None:
    assert suggest("sdnb", ("dbn", "sdbn", "pbm")) == "did you mean 'sdbn'?"
    assert suggest("x", ("dbn", "sdbn")) == "expected one of dbn, sdbn"


def test_a_missing_extra_is_told_with_its_command() -> None:
    assert import_optional_module("json", "JSON", "x").loads("1") == 1
    with pytest.raises(MissingExtraError) as missing:
        import_optional_module("no_module_of_this_name", "BM25", "baseline")
    assert str(missing.value) == (
        "BM25 requires the extra [baseline]; install it with: pip install "
        "'longeval-builder[baseline]'"
    )


def test_public_names_are_loaded_on_demand() -> None:
    assert all(getattr(builder, name) is not None for name in builder.__all__)
    assert dir(builder) == sorted(builder.__all__)
    with pytest.raises(AttributeError, match=r"^module 'builder' has no attribute 'nothing'$"):
        _ = builder.nothing
