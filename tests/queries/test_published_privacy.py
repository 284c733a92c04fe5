"""What a simulated log holds about people, and what of it reaches a published collection."""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import orjson
import polars as pl
import pytest

from builder import BuildReport
from builder.parameters import SelectionParameters
from builder.queries import detect_personal_data, select_queries
from builder.runtime.progress import NoProgress


def published_bytes(version: Path) -> Iterator[tuple[Path, bytes]]:
    """Every published file; tables once more without compression, so that bytes can be found."""
    for path in sorted(version.rglob("*")):
        if path.suffix == ".parquet":
            plain = io.BytesIO()
            pl.read_parquet(path).write_parquet(plain, compression="uncompressed", statistics=False)
            yield path, plain.getvalue()
        elif path.is_file():
            yield path, path.read_bytes()


@pytest.fixture(scope="module")
def planted(world: Path) -> pl.DataFrame:
    """Queries with personal data that the simulation planted."""
    return pl.read_parquet(world / "truth" / "personal.parquet")


@pytest.fixture(scope="module")
def users(world: Path) -> set[bytes]:
    """User identifiers of the raw logs."""
    found: set[bytes] = set()
    for path in sorted((world / "logs").glob("*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            try:
                user = orjson.loads(line).get("user")
            except (orjson.JSONDecodeError, AttributeError):
                continue
            if isinstance(user, str) and len(user) > 3:
                found.add(user.encode())
    return found


def test_all_planted_personal_data_is_recognized(planted: pl.DataFrame) -> None:
    assert planted["kind"].n_unique() == 6
    assert detect_personal_data(planted["text"]).to_list() == planted["kind"].to_list()


def test_no_planted_query_is_selected_however_frequent(room, planted: pl.DataFrame) -> None:
    """Even k-anonymous and on topic, it is withheld, in the count of its kind."""
    texts = planted["text"].to_list()
    out = room.out()
    ledger = select_queries(
        out,
        **room.log([(text, user, (1,)) for text in texts for user in range(6)]),
        topics=room.topics(*{text.split()[0] for text in texts}),
        params=SelectionParameters(),
        limits=room.limits,
        progress=NoProgress(),
    )
    assert pl.read_parquet(out / "candidates.parquet").is_empty()
    kinds = dict(planted["kind"].value_counts().rows())
    assert {name: n for name, n in ledger.rejected.items() if n} == {
        f"personal_{kind}": n for kind, n in kinds.items()
    }


def test_no_published_file_holds_a_user_or_planted_personal_data(
    built: BuildReport, users: set[bytes], planted: pl.DataFrame
) -> None:
    assert built.version is not None
    assert len(users) > 100
    secrets = [*users, *(text.encode() for text in planted["text"])]
    for path, data in published_bytes(built.version):
        found = [secret for secret in secrets if secret in data]
        assert not found, f"{path}: {len(found)} secrets"


def test_published_queries_are_anonymous(built: BuildReport) -> None:
    assert built.version is not None
    tables = sorted(built.version.glob("snapshots/*/queries.parquet"))
    assert len(tables) == 3
    for table in tables:
        assert pl.read_parquet(table)["users"].min() >= SelectionParameters().min_users
