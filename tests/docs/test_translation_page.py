"""The figures and translations of `docs/translation.md` are those of the bundled model."""

import re
from pathlib import Path

from builder.models import bundled_model_folder
from builder.parameters import TranslationParameters
from builder.runtime.limits import ResourceLimits
from builder.translation.standalone import translate_texts

PAGE = (Path(__file__).parents[2] / "docs/translation.md").read_text("utf-8")
PROSE = " ".join(PAGE.split())
CARD = (bundled_model_folder() / "README.md").read_text("utf-8")


def read_table(text: str, header: str) -> list[list[str]]:
    """Return the cells of the rows of the first table whose header begins with a text."""
    lines = text.partition(f"\n| {header}")[2].splitlines()[2:]
    rows = lines[: next(i for i, line in enumerate(lines) if not line.startswith("|"))]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_translations_are_those_of_the_bundled_model(tmp_path: Path) -> None:
    rows = read_table(PAGE, "French |")
    quoted = re.search(r"it is worse: \*([^*]+)\* becomes \"([^\"]+)\"\.", PROSE)
    assert quoted is not None
    shown = [*((french, english) for french, english in rows), quoted.groups()]
    params = TranslationParameters(model=bundled_model_folder())
    found = translate_texts(
        [french for french, _ in shown], params, ResourceLimits(tmp_path, threads=1)
    )
    assert [translation.text for translation in found] == [english for _, english in shown]


def test_figures_are_those_of_the_card() -> None:
    scores = {row[0]: row for row in read_table(CARD, "test set")}
    times = {row[1]: row[2] for row in read_table(CARD, "model | beam") if row[0] == "embedded"}
    columns = {"1": 2, "4": 4}
    expected = [
        [
            scores["newstest2014"][column],
            scores["flores_devtest"][column],
            f"{times[beam]} ms",
        ]
        for beam, column in columns.items()
    ]
    assert [row[1:] for row in read_table(PAGE, "`beam_size`")] == expected
    usable = re.search(r"(\d+) of 40 outputs are usable", CARD)
    assert usable is not None
    assert f"of which {usable[1]} were judged usable" in PROSE
