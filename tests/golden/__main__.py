"""`python -m tests.golden [--update] [--threads N] [WORLD ...]`: compare, or renew, the hashes.

Prints what differs from the golden file; the exit code is 1 where something does and `--update` is
not given. `--keep FOLDER` leaves worlds and collections there, to look at a table that differs.
"""

import argparse
import json
import sys
from pathlib import Path

from tests.golden.hashes import GOLDEN, NAMES, differences, hash_world, hash_worlds, read_golden


def main(arguments: list[str]) -> int:
    """Compare the golden worlds with the golden file."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("worlds", nargs="*", choices=[[], *NAMES])
    parser.add_argument("--update", action="store_true", help="write the hashes found")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="an empty folder for worlds and collections")
    options = parser.parse_args(arguments)
    golden = read_golden()
    changed = []
    for name in options.worlds or NAMES:
        found = _hashes(name, options.threads, options.keep)
        changed += differences(name, golden.get(name, {}), found)
        golden[name] = found
    sys.stdout.write("\n".join(changed or ["every table is as it was"]) + "\n")
    if options.update:
        GOLDEN.write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n", "utf-8")
        return 0
    return int(bool(changed))


def _hashes(name: str, threads: int, keep: Path | None) -> dict[str, str]:
    if keep is None:
        return hash_worlds((name,), threads)[name]
    (keep / name).mkdir(parents=True)
    return hash_world(name, keep / name, threads)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
