"""A refused definition ends the process with its message alone, without reports of leaks."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.thorough import ALL

DEFINITION = """
[collection]
name = "refused"
version = "0.1.0"
topics = "topics.tsv"
{section}
[[snapshots]]
name = "2022-06"
start = 2022-06-01
end = 2022-07-01
log = ["log.jsonl"]
crawl = ["crawl.jsonl"]
"""


SECTIONS = [
    '[log]\naddress = "https://{id}"',
    "[qrels]\ncuts = [0.5, 0.2]",
    '[log]\naddress = "https://a.example/"',
    '[crawl]\naddress = "ftp://{id}"',
    '[log]\ntime_zone = "Mars"',
]


@pytest.mark.parametrize("section", SECTIONS if ALL else SECTIONS[:2])
def test_the_message_is_all_that_is_printed(tmp_path: Path, section: str) -> None:
    (tmp_path / "w.toml").write_text(DEFINITION.replace("{section}", section))
    code = "from builder.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "build", "w.toml", "--out", "out"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (message,) = done.stderr.splitlines()
    assert message.startswith("longeval: w.toml: ")
