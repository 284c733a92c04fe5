"""`make readers`: which reader of the field loads what we export.

Builds a small collection, exports it in every layout and opens it with every client that is
installed. For those that are no dependencies of the tests:
`pip install ranx python-terrier datasets`.
"""

import sys
import tempfile
from pathlib import Path

import builder
from builder import SimulationParameters
from builder.cli.output import format_table
from tests.readers.loaders import LOADERS, export_all


def main() -> int:
    """Print the table; 1 where a client that is installed cannot load something."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        builder.simulate(
            folder / "world", SimulationParameters(name="readers", snapshots=2, documents=200)
        )
        builder.build(folder / "world/workflow.toml", folder / "collection")
        exports = export_all(folder / "collection", folder / "out")
        for loader in LOADERS:
            try:
                found = loader(exports)
                wanted = {key: exports.sizes[key] for key in found}
                said = "loads" if found == wanted else f"differs: {found}, expected {wanted}"
            except ImportError as error:
                said = f"not installed ({error.name})"
            except Exception as error:
                said = f"fails: {type(error).__name__}: {error}"
            rows.append((loader.__name__, (loader.__doc__ or "").partition("\n")[0], said))
    print(format_table(rows, ("reader", "what it reads", "result")))  # noqa: T201 - a report is its purpose
    return any(said.startswith(("fails", "differs")) for *_, said in rows)


if __name__ == "__main__":
    sys.exit(main())
