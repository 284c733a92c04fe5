"""Build golden worlds, hash their tables, and compare the hashes with the golden file.

Hashes are `{world: {table: "<rows>-<hash>"}}`; the golden file is that as JSON, sorted.
"""

import json
import tempfile
from pathlib import Path

import builder
from tests.golden.real import SHARED, real_crawl, run_models
from tests.golden.tables import collection_hashes
from tests.golden.worlds import WORLDS

GOLDEN = Path(__file__).parent / "golden.json"
REAL = ("real-crawl", "tiangong")
NAMES = (*WORLDS, *(REAL if SHARED.is_dir() else ()))
"""The worlds that can be built here."""

Hashes = dict[str, str]


def read_golden() -> dict[str, Hashes]:
    """The hashes of the golden file; empty where there is none."""
    return dict(json.loads(GOLDEN.read_text("utf-8"))) if GOLDEN.exists() else {}


def hash_world(name: str, folder: Path, threads: int = 1, until: str | None = None) -> Hashes:
    """Build a world in an empty folder and hash its tables.

    Args:
        name: The world.
        folder: The empty folder.
        threads: How many work at once.
        until: Last stage to build; None: that of the world.
    """
    (folder / "world").mkdir()
    (folder / "scratch").mkdir()
    if name == "tiangong":
        run_models(folder / "out")
    else:
        make, last = (real_crawl, None) if name == "real-crawl" else WORLDS[name]
        definition = make(folder / "world")
        builder.build(definition, folder / "out", until=until or last, threads=threads)
    return collection_hashes(folder / "out", folder / "scratch")


def hash_worlds(names: tuple[str, ...] = NAMES, threads: int = 1) -> dict[str, Hashes]:
    """Hashes of worlds that are built in a temporary folder."""
    found = {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="longeval-golden-") as folder:
            found[name] = hash_world(name, Path(folder), threads)
    return found


def differences(world: str, expected: Hashes, found: Hashes) -> list[str]:
    """A line for each table of a world that differs, with its rows and hashes."""
    return [
        f"{world}: {table}: expected {expected.get(table, 'no such table')}, "
        f"found {found.get(table, 'no such table')}"
        for table in sorted(expected.keys() | found.keys())
        if expected.get(table) != found.get(table)
    ]
