"""Every published case of the papers' formulas, computed by the command line alone.

The cases lie outside of the repository; without them this module is skipped. The same formulas are
tested on numbers of our own in tests/evaluation, tests/statistics and tests/tasks.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builder.cli import main

PATH = Path(__file__).parents[3] / "shared" / "data" / "evaluation" / "reference_cases.json"
CASES: list[dict[str, Any]] = json.loads(PATH.read_text())["cases"] if PATH.exists() else []
START = 1317945600
DAY = 86_400

Case = dict[str, Any]


class CommandLine:
    """Runs commands in a folder and parses their JSON output."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def write(self, name: str, lines: list[str]) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def json(self, *arguments: object) -> Any:
        with pytest.raises(SystemExit) as end:
            main([*map(str, arguments), "--format", "json"])
        captured = self.capsys.readouterr()
        assert not end.value.code, captured.err
        return json.loads(captured.out)

    def persistence(self, scores: dict[str, tuple[list[float], list[float]]]) -> dict[str, float]:
        """Quantities of system S against pivot P, from scores per query of two snapshots."""
        for position, month in enumerate(("2022-06", "2022-07")):
            for system, values in scores.items():
                rows = [f"q{n},P@10,{v}" for n, v in enumerate(values[position])]
                self.write(f"runs/{system}-{month}.csv", ["query_id,measure,score", *rows])
            queries = len(next(iter(scores.values()))[position])
            self.write(f"qrels/{month}.qrels", [f"q{n} 0 d 1" for n in range(queries)])
        pivot = ("--pivot", "P") if "P" in scores else ()
        found = self.json(
            *("evaluate", self.folder / "qrels", self.folder / "runs", *pivot),
            *("--measures", "P@10", "--resamples", "0"),
        )
        return {
            row["quantity"]: row["value"]
            for row in found["persistence"]
            if row["system"] == "S" and row["topic_set"] == "full"
        }


def same(case: Case, value: float | None, expected: float) -> bool:
    return value is not None and math.isclose(
        value, expected, rel_tol=0, abs_tol=max(case["abs_tol"], 1e-12)
    )


def spread(hits: int, topics: int) -> list[float]:
    """P@10 per topic with a number of hits in all."""
    full, rest = divmod(hits, 10)
    return [1.0] * full + [rest / 10] + [0.0] * (topics - full - 1)


def check_hits(case: Case, command: CommandLine) -> None:
    given, expected = case["inputs"], case["expected"]
    system = spread(given["hits_wt"], given["topics_wt"]), spread(given["hits"], given["topics"])
    pivot = (
        spread(given["pivot_hits_wt"], given["topics_wt"]),
        spread(given["pivot_hits"], given["topics"]),
    )
    found = command.persistence({"S": system, "P": pivot})
    assert same(case, found["re_delta_drop"], expected["re_delta"])
    printed = expected["printed"]
    assert round(found["arp_from"], 3) == printed["arp_wt"]
    assert round(found["arp_to"], 3) == printed["arp"]
    if "er" in expected:
        assert same(case, found["delta_ri"], expected["delta_ri"])
        assert same(case, found["effect_ratio"], expected["er"])


def check_toy(case: Case, command: CommandLine) -> None:
    given = case["inputs"]
    found = command.persistence({"S": (given["S"], given["S2"]), "P": (given["P"], given["P2"])})
    assert same(case, found["effect_ratio"], case["expected"]["er"])
    assert same(case, found["delta_ri"], case["expected"]["delta_ri"])
    assert same(case, found["re_delta_drop"], case["expected"]["re_delta"])


def check_t_test(case: Case, command: CommandLine) -> None:
    found = command.persistence({"S": (case["inputs"]["x"], case["inputs"]["y"])})
    assert same(case, found["p_unpaired"], case["expected"]["p"])
    assert same(case, found["p_welch"], case["expected"]["p_welch"])


def check_drop(case: Case, command: CommandLine) -> None:
    given = case["inputs"]
    found = command.persistence({"S": ([given["within"]] * 2, [given["temporal"]] * 2)})
    assert same(case, -found["rnd_relative_drop"], case["expected"]["rpd"])
    assert same(case, found["re_delta_drop"], case["expected"]["re_delta"])
    assert same(case, found["rnd_absolute_drop"], case["expected"]["rnd_abs"])


def filtering(command: CommandLine, tp: int, fp: int, fn: int, zeta: float) -> Any:
    """The whole period as one batch, with these counts."""
    line = "team\tsys\t{}-{}\thttp://target/x\t{}\t2"
    returned = [line.format(START, f"right{n}", 500) for n in range(tp)]
    returned += [line.format(START, f"wrong{n}", 500) for n in range(fp)]
    truth = [line.format(START, f"right{n}", 1000) for n in range(tp + fn)]
    truth += ["team\tann\t1317945600-other\thttp://target/x\t1000\t-1"]
    # below the cut-off: a run that is not empty
    returned += [line.format(START, "below", 1)]
    paths = command.write("truth.tsv", truth), command.write("run.tsv", returned)
    return command.json("filtering", *paths, "--cutoff", "100", "--zeta", zeta)["whole"][0]


def check_aptness(case: Case, command: CommandLine) -> None:
    fp, zeta = case["inputs"]["fp"], case["inputs"]["zeta"]
    assert same(case, filtering(command, 1, fp, 0, zeta)["aptness"], case["expected"]["aptness"])


def check_f_pra(case: Case, command: CommandLine) -> None:
    given = case["inputs"]
    fp = round(1 / given["a"]) - 1
    counts = {
        (0.5, 0.25): (1, 1, 3),
        (0.5, None): (1, 1, 0),
        (0.0, 0.0): (0, 1, 1),
        (None, None): (0, fp, 0),
    }
    if given["r"] is None and given["p"] is not None:
        pytest.skip("precision without recall: no batch has it")
    tp, fp, fn = counts[given["p"], given["r"]]
    found = filtering(command, tp, fp, fn, 1)
    assert (found["precision"], found["recall"]) == (given["p"], given["r"])
    assert same(case, found["aptness"], given["a"])
    assert same(case, found["f_pra"], case["expected"]["f_pra"])


def check_wls(case: Case, command: CommandLine) -> None:
    given, expected = case["inputs"], case["expected"]
    rows = [
        f"A\tF\t2022-06-{1 + t:02}\t{y}\t{weight}"
        for t, y, weight in zip(given["t"], given["y"], given["docs"], strict=True)
    ]
    path = command.write("scores.tsv", ["system\tmeasure\tsnapshot\tscore\tweight", *rows])
    trend = command.json("trend", "scores", path)["trends"][0]
    weighted = command.json("trend", "scores", path, "--residuals", "weighted")["trends"][0]
    computed = {
        "slope": trend["slope_per_day"],
        "intercept": trend["intercept"],
        "se_hc3": trend["slope_se_per_day"] or 0.0,
        "t": trend["t"],
        "df": trend["df"],
        "df_positive_weight": trend["df"],
        "p": trend["p"],
        "end_point": trend["end_point"],
        "end_point_at_t6": trend["end_point"],
        "end_point_at_t5": trend["end_point_observed"],
        "ad_stat": trend["anderson_darling"],
        "ad_p": trend["anderson_darling_p"],
        "dw": trend["durbin_watson"],
        "ad_stat_wresid": weighted["anderson_darling"],
        "dw_wresid": weighted["durbin_watson"],
    }
    compared = computed.keys() & expected.keys()
    assert {"slope", "se_hc3"} <= compared or {"slope", "end_point"} <= compared
    for name in compared:
        assert same(case, computed[name], expected[name]), name


def summarization(command: CommandLine, given: Case, *options: object) -> dict[str, Any]:
    """Score updates whose matches are given by word."""
    starts: dict[str, list[int]] = {}
    updates, matches = [], []
    for name, update in given["updates"].items():
        words = [f"word{n}" for n in range(update["words"])]
        offsets = [0]
        for word in words:
            offsets.append(offsets[-1] + len(word) + 1)
        starts[name] = offsets
        text = " ".join(words)
        updates.append(f"1\td-{name[1:]}\td\t{name[1:]}\t{len(text)}\tNULL\t{text}")
    for match in given["matches"]:
        offsets = starts[match["update"]]
        begin, end = offsets[match["words"][0]], offsets[match["words"][-1] + 1] - 1
        matches.append(f"1\td-{match['update'][1:]}\t{match['nugget']}\t{begin}\t{end}")
    nuggets = []
    for name, nugget in given["nuggets"].items():
        text = " ".join(f"{name}w{n}" for n in range(nugget["words"]))
        nuggets.append(f"TS14.1\t{name}\t{nugget['t']}\t{nugget['i']}\t{len(text)}\t{text}")
    run = [f"TS14.1 team run d {u[1:]} {v['t']} 0.5" for u, v in given["updates"].items()]
    return command.json(  # type: ignore[no-any-return]
        "summarization",
        *(command.write("nuggets.tsv", nuggets), command.write("updates.tsv", updates)),
        *(command.write("matches.tsv", matches), command.write("run.txt", run)),
        *("--events", command.write("events.tsv", [f"1\t0\t{DAY}"]), *options),
    )


def check_summary(case: Case, command: CommandLine) -> None:
    given, expected = case["inputs"], case["expected"]
    given = {**given, "updates": {update["id"]: update for update in given["updates"]}}
    gain = "latency" if given["disc"] else "free"
    taus = [option for tau in expected["C_tau"] for option in ("--tau", tau)]
    found = summarization(command, given, *taus)
    row = next(event for event in found["events"] if event["gain"] == gain)
    for ours, theirs in {
        "expected_gain": "EG",
        "expected_gain_verbosity": "EG_V",
        "comprehensiveness": "C",
        "f_half_harmonic": "F_eq26",
        "f_harmonic": "F_harmonic",
        "comprehensiveness_integral": "C_integral",
        "comprehensiveness_integral_mean": "C_integral_normalised",
    }.items():
        assert row[ours] == pytest.approx(expected[theirs], rel=1e-9), ours
    at_tau = {str(row["tau"]): row for row in found["taus"] if row["gain"] == gain}
    assert at_tau.keys() == expected["C_tau"].keys()
    for tau, row in at_tau.items():
        assert same(case, row["comprehensiveness"], expected["C_tau"][tau])
        assert same(case, row["expected_gain"], expected["EG_tau"][tau])


def check_latency(case: Case, command: CommandLine) -> None:
    """One update matches one nugget: its discounted gain is L."""
    shift = max(0, -case["inputs"]["update_t"])
    given = {
        "nuggets": {"n1": {"t": shift + case["inputs"]["nugget_t"], "i": 3, "words": 3}},
        "updates": {"u1": {"t": shift + case["inputs"]["update_t"], "words": 3}},
        "matches": [{"update": "u1", "nugget": "n1", "words": [0, 1, 2]}],
    }
    found = summarization(command, given)
    row = next(event for event in found["events"] if event["gain"] == "latency")
    assert same(case, row["expected_gain"], case["expected"]["L"])


def check_graded_relevance(case: Case, command: CommandLine) -> None:
    """A timely update per nugget: its undiscounted gain is R."""
    for importance, expected in zip(case["inputs"]["i"], case["expected"]["R"], strict=True):
        given = {
            "nuggets": {"n1": {"t": 0, "i": importance, "words": 3}},
            "updates": {"u1": {"t": 0, "words": 3}},
            "matches": [{"update": "u1", "nugget": "n1", "words": [0, 1, 2]}],
        }
        found = summarization(command, given, "--max-importance", case["inputs"]["max"])
        row = next(event for event in found["events"] if event["gain"] == "free")
        assert same(case, row["expected_gain"], expected)


def check_perfect(case: Case, command: CommandLine) -> None:
    """Nuggets as updates, on time, of the small case without n4."""
    nuggets = {
        "n1": {"t": 0, "i": 3, "words": 4},
        "n2": {"t": 21600, "i": 1, "words": 6},
        "n3": {"t": 43200, "i": 2, "words": 5},
    }
    given = {
        "nuggets": nuggets,
        "updates": {f"u{n[1:]}": v for n, v in nuggets.items()},
        "matches": [
            {"update": f"u{n[1:]}", "nugget": n, "words": list(range(v["words"]))}
            for n, v in nuggets.items()
        ],
    }
    found = summarization(command, given, "--relevance", "binary")
    for row in found["events"]:
        assert same(case, row["expected_gain"], case["expected"]["EG"])
        assert same(case, row["expected_gain_verbosity"], case["expected"]["EG_V"])
        assert same(case, row["comprehensiveness"], case["expected"]["C"])
        assert same(case, row["f_half_harmonic"], case["expected"]["F_eq26"])
        assert same(case, row["f_harmonic"], case["expected"]["F_harmonic"])


def check_measures(case: Case, command: CommandLine) -> None:
    given, expected = case["inputs"], case["expected"]["ir_measures"]
    qrels = [f"1 0 {doc} {grade}" for doc, grade in given["qrels"].items()]
    run = [f"1 Q0 {doc} {n} {10 - n} S" for n, doc in enumerate(given["ranking"], 1)]
    for month in ("2022-06", "2022-07"):
        command.write(f"qrels/{month}.qrels", qrels)
        command.write(f"runs/S-{month}.txt", run)
    names = [name for name in expected if name != "ERR@20"]
    found = command.json(
        *("evaluate", command.folder / "qrels", command.folder / "runs", "--resamples", "0"),
        *("--measures", ",".join([*names, "ir_measures:ERR@20"])),
    )
    values = {
        row["measure"].removeprefix("ir_measures:").lower(): row["value"]
        for row in found["effectiveness"]
        if row["topic_set"] == "full" and row["snapshot"] == "2022-06"
    }
    for name, value in expected.items():
        assert same(case, values[name.lower()], value), name


def check_slope_units(case: Case, command: CommandLine) -> None:
    given = case["inputs"]
    days = [f"A\tF\t2022-06-{1 + n:02}\t{0.5 + n * given['slope_per_day']!r}" for n in range(5)]
    path = command.write("scores.tsv", ["system\tmeasure\tsnapshot\tscore", *days])
    slope = command.json("trend", "scores", path)["trends"][0]["slope_per_day"]
    assert slope / DAY == pytest.approx(case["expected"]["per_second"], rel=1e-9)
    assert slope == pytest.approx(given["slope_per_hour"] * 24, rel=1e-9)


CHECKS: dict[str, Callable[[Case, CommandLine], None]] = {
    "keller2024.table1": check_hits,
    "keller2024.toy.er_dri": check_toy,
    "keller2024.toy.ttest": check_t_test,
    "longeval2023.rpd": check_drop,
    "kenter2015.aptness": check_aptness,
    "kenter2015.f_pra": check_f_pra,
    "kenter2015.wls": check_wls,
    "kenter2015.slope_norm": check_slope_units,
    "trec2014ts.small": check_summary,
    "trec2014ts.latency": check_latency,
    "trec2014ts.r_graded": check_graded_relevance,
    "trec2014ts.perfect": check_perfect,
    "ir_measures.small": check_measures,
}


@pytest.mark.skipif(not CASES, reason="no ../shared beside this checkout")
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_published_case(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = next((run for name, run in CHECKS.items() if case["id"].startswith(name)), None)
    if check is None:
        pytest.skip("not a quantity that a command prints")
    check(case, CommandLine(tmp_path, capsys))
