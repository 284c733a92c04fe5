"""Lines of raw files, whole and broken."""

import gzip
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import FormatError
from builder.ingest import lines as module
from builder.ingest.decompression import ZstdReader
from builder.ingest.lines import read_line_blocks
from builder.io.sources import Source
from tests.thorough import examples

LINES = [b'{"a": 1}', b"", b"deux", "é\u2028ø".encode(), b"x" * 50]


def read(path: Path, most: int = 1000) -> tuple[list[bytes | None], list[str]]:
    """All lines of a file, and its faults; line numbers are checked on the way."""
    found: list[bytes | None] = []
    faults = []
    for block in read_line_blocks(Source(path, path.name), most):
        assert block.first_line_number == len(found) + 1
        found += block.lines
        faults += [block.fault] if block.fault else []
    return found, faults


@pytest.mark.parametrize("packed", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("chunk", [1, 3, 4096])
def test_the_same_lines_whatever_the_packing(
    tmp_path: Path, packed: str, end: bytes, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    data = end.join(LINES) + end
    pack = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}[packed]
    path = tmp_path / "file"
    path.write_bytes(pack(data))
    assert read(path) == (LINES, [])


def test_the_last_line_may_lack_its_end(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\nb")
    assert read(tmp_path / "f") == ([b"a", b"b"], [])


def test_an_empty_file_has_no_line(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert read(tmp_path / "f") == ([], [])


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")
    assert read(tmp_path / "f") == ([b"a", b"\xef\xbb\xbfb"], [])


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_long_lines_are_skipped_and_counted(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    (tmp_path / "f").write_bytes(b"a\n" + b"x" * 100 + b"\nb\n" + b"y" * 100)
    assert read(tmp_path / "f", most=10) == ([b"a", None, b"b", None], [])


def test_a_truncated_file_keeps_what_came_before(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % i for i in range(20_000))
    packed = gzip.compress(data)
    (tmp_path / "f").write_bytes(packed[: len(packed) // 2])
    found, faults = read(tmp_path / "f")
    assert faults == ["file_truncated"]
    assert len(found) > 8_000
    assert found == data.split(b"\n")[: len(found)]


def test_even_a_small_truncated_file_keeps_its_lines(tmp_path: Path) -> None:
    packed = gzip.compress(b"un\ndeux\ntrois\n", 0)
    (tmp_path / "f").write_bytes(packed[:-12])
    assert read(tmp_path / "f") == ([b"un", b"deux"], ["file_truncated"])


def test_a_damaged_file_stops_with_a_fault(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"line\n" * 100_000))
    packed[len(packed) // 2] ^= 0xFF
    packed[-6] ^= 0xFF
    (tmp_path / "f").write_bytes(packed)
    _, faults = read(tmp_path / "f")
    assert faults in (["file_damaged"], ["file_truncated"])


def test_a_bomb_stops_at_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_BOMB_BYTES", 1_000_000)
    monkeypatch.setattr(module, "CHUNK", 100_000)
    (tmp_path / "f").write_bytes(gzip.compress(b"0" * 9 + b"\n" * 50_000_000))
    found, faults = read(tmp_path / "f")
    assert faults == ["decompression_bomb"]
    assert len(found) < 50_000_000


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        read(tmp_path / "none")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_another_encoding_is_told(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "f").write_bytes((mark + '{"query": "été"}\n').encode(encoding))
    with pytest.raises(FormatError, match="expected text in UTF-8, found UTF-16; convert it"):
        read(tmp_path / "f")


@pytest.mark.parametrize(
    ("encoding", "name"), [("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")]
)
def test_utf16_without_a_byte_order_mark_is_an_error(
    tmp_path: Path, encoding: str, name: str
) -> None:
    (tmp_path / "f").write_bytes("time,user,query\n1,u1,été\n".encode(encoding))
    with pytest.raises(FormatError) as error:
        read(tmp_path / "f")
    assert str(error.value).endswith(
        f"expected text in UTF-8, found UTF-16; convert it with iconv -f {name} -t UTF-8"
    )


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"").rstrip(b"\r"))))
def test_no_line_is_lost(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(b"_\n" + b"".join(line + b"\n" for line in lines))
    assert read(path) == ([b"_", *lines], [])


def test_a_zstd_file_is_decompressed_in_small_parts(tmp_path: Path) -> None:
    """64 KiB of a bomb become 2 GiB: not more than 32 MiB of them at once."""
    compressor, zeros = zstandard.ZstdCompressor(level=3).compressobj(), bytes(2**24)
    parts = [compressor.compress(zeros) for _ in range(24)]
    (tmp_path / "f").write_bytes(b"".join((*parts, compressor.flush())))
    assert (tmp_path / "f").stat().st_size < 2**14
    with ZstdReader(tmp_path / "f") as file:
        assert 2**20 <= len(file.read1(2**20)) <= 2**20 + 2**25


def test_what_a_damaged_zstd_file_holds_is_read_before_the_error(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % i for i in range(100_000))
    packed = zstandard.compress(data)
    for name, damaged, error in (
        ("cut", packed[: len(packed) // 2], EOFError),
        ("bad", packed[: len(packed) // 2] + b"\xff" * 1000, OSError),
    ):
        (tmp_path / name).write_bytes(damaged)
        with ZstdReader(tmp_path / name) as file:
            found = file.read1(len(data))
            assert len(found) > 100_000
            assert data.startswith(found)
            with pytest.raises(error):
                file.read1(1)
