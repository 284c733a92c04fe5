"""`python -m tests`: every test, in two processes side by side; pytest itself runs them one by one.

The second process takes the folders named here, about half of the time; what it printed comes after
what the first prints. Arguments go to pytest.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SECOND = ("cli", "docs", "drift", "faults", "fuzz", "golden", "security", "translation")
NO_TEST = 5
"""What pytest returns where the arguments leave none of the tests of one half."""


def main(arguments: list[str]) -> int:
    """Run both halves; 0 where all tests passed."""
    command = [sys.executable, "-m", "pytest", *arguments]
    folders = [str(HERE / name) for name in SECOND]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        second = subprocess.Popen([*command, *folders], stdout=printed, stderr=subprocess.STDOUT)
        try:
            first = subprocess.run(
                [*command, *(f"--ignore={folder}" for folder in folders)], check=False
            )
            codes = {first.returncode, second.wait()}
        finally:
            second.kill()
        printed.seek(0)
        sys.stdout.write(printed.read())
    return max(codes - {NO_TEST}, default=NO_TEST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
