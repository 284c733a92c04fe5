"""Text encodings that a definition may name."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from builder.ingest.lines import UTF8_OR_WINDOWS_1252
from builder.ingest.logs import encoding
from builder.ingest.logs.encoding import resolve_encoding, sample_non_ascii_lines
from builder.io.sources import Source
from builder.parameters import LogParameters
from builder.text.keys import key64
from tests.ingest.logs.log_files import ingest


@pytest.mark.parametrize("name", ["auto", "utf-8", "utf-8-sig", "latin-1", "gb18030", "EUC_JP"])
def test_encodings_that_extend_ascii(name: str) -> None:
    assert LogParameters(encoding=name).encoding == name


@pytest.mark.parametrize("name", ["utf-16", "utf-32", "utf-7", "cp037", "raw_unicode_escape", "hz"])
def test_other_encodings_are_refused_with_advice(name: str) -> None:
    with pytest.raises(ValidationError, match=r"does not extend ASCII; convert .* with iconv"):
        LogParameters(encoding=name)


@pytest.mark.parametrize("name", ["", "none", "base64", "rot13"])
def test_non_text_codecs_are_rejected(name: str) -> None:
    with pytest.raises(ValidationError, match="no such text encoding; expected auto, utf-8"):
        LogParameters(encoding=name)


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("été", "windows-1252"),
        ("crêpes à la châtaigne, où ça ? « ici »", "windows-1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "windows-1250"),
        ("Съешь же ещё этих мягких французских булок", "windows-1251"),
        ("搜索引擎的查询日志，您好", "gb18030"),
    ],
)
def test_detected_encodings(tmp_path: Path, text: str, codec: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(f'{{"query": "{text}"}}\n'.encode(codec) * 5)
    name, note = resolve_encoding(Source(path, "log.jsonl"), LogParameters())
    assert name == (UTF8_OR_WINDOWS_1252 if codec == "windows-1252" else codec)
    assert note == f"detected encoding {codec}; set log.encoding to confirm"


def test_the_encoding_of_a_single_line_without_a_line_break_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes('{"query": "crêpes à la châtaigne, où ça ? « ici »"}'.encode("windows-1252"))
    name, _ = resolve_encoding(Source(path, "log.jsonl"), LogParameters())
    assert name == UTF8_OR_WINDOWS_1252


def test_the_last_line_of_a_sample_counts_only_if_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample may end within a character."""
    monkeypatch.setattr(encoding, "SAMPLE_BYTES", 5)
    source = Source(tmp_path / "log", "log")
    for data, lines in (
        ("abc\né\n".encode(), []),
        (b"\xe9\nabc\xe9", [b"\xe9"]),
        (b"\xe9t\xe9", [b"\xe9t\xe9"]),
        (b"abcd\xe9f", [b"abcd\xe9"]),
        (b"abc", []),
    ):
        source.path.write_bytes(data)
        assert sample_non_ascii_lines(source) == lines


MIXED = "{0},u1,forêt,https://a.example/1,1\n{0},u2,rivière,https://a.example/1,1\n"


@pytest.mark.parametrize(
    ("encoding", "queries", "note"),
    [
        (
            "auto",
            {"forêt", "rivière"},
            "some lines are in windows-1252 and others in UTF-8; each is read in its own encoding",
        ),
        ("windows-1252", {"forêt", "rivière", "forÃªt", "riviÃ¨re"}, None),
    ],
)
def test_lines_in_latin_1_and_lines_in_utf_8(
    tmp_path: Path, encoding: str, queries: set[str], note: str | None
) -> None:
    """With detection, each line is read in its own encoding; the lines in Latin-1 are more."""
    header, latin, utf8 = "time,user,query,results,clicks\n", MIXED.format(1), MIXED.format(2)
    data = (header + latin + MIXED.format(3)).encode("latin-1") + utf8.encode()
    ledger, found = ingest(tmp_path, {"log.csv": data}, encoding=encoding)
    assert (ledger.rows_in, ledger.rows_out) == (6, 6)
    assert set(found["surface"].to_list()) == {key64(query) for query in queries}
    assert ledger.notes == ([] if note is None else [f"log.csv: {note}"])


def test_lines_in_other_encodings_that_happen_to_be_utf_8(tmp_path: Path) -> None:
    """`联通` in GB18030 is valid UTF-8."""
    line = "1,u1,{},https://a.example/1,1\n"
    texts = ["联通", *("搜索引擎的查询日志，您好",) * 3]
    data = "time,user,query,results,clicks\n" + "".join(line.format(text) for text in texts)
    _, found = ingest(tmp_path, {"log.csv": data.encode("gb18030")}, repeats="keep")
    assert set(found["surface"].to_list()) == {key64(text) for text in texts}


def test_a_log_of_which_half_is_utf8_is_in_utf8(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    good, bad = b'{"query": "\xc3\xa9"}\n', b'{"query": "\xe9t\xe9"}\n'
    for data, name in ((good + bad + b"{}\n" * 9, "utf-8"), (good + bad * 2, UTF8_OR_WINDOWS_1252)):
        path.write_bytes(data)
        assert resolve_encoding(Source(path, "log.jsonl"), LogParameters())[0] == name
    path.write_bytes(bad * 2)
    latin = LogParameters(encoding="latin-1")
    assert resolve_encoding(Source(path, "log.jsonl"), latin) == ("iso8859-1", "")
