from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.cli.evaluation import attribute, evaluate
from builder.errors import UsageError
from builder.evaluation.measures.registry import (
    ALIASES,
    DEFAULT_MEASURES,
    FAMILIES,
    Measure,
    parse_measure,
    parse_measures,
)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("nDCG", "nDCG"),
        ("ndcg@10", "nDCG@10"),
        (" MAP ", "AP"),
        ("P@10(rel=2)", "P@10(rel=2)"),
        ("P(rel=2)@10", "P@10(rel=2)"),
        ("P@10(rel=1)", "P@10"),
        ("P@10()", "P@10"),
        ("Bpref", "bpref"),
        ("MRR@10", "RR@10"),
        ("ndcg_cut_10", "nDCG@10"),
        ("map", "AP"),
        (" recall_1000 ", "R@1000"),
        ("ERR@20", "ERR@20(max=4)"),
        ("ERR(max=2)@20", "ERR@20(max=2)"),
        ("ERR", "ERR(max=4)"),
        ("Judged@10", "Judged@10"),
        ("ndcg", "nDCG"),
        ("map_cut_5", "AP@5"),
        ("P_5", "P@5"),
        ("recip_rank", "RR"),
        ("bpref", "bpref"),
        ("Rprec", "Rprec"),
        ("success_1", "Success@1"),
        ("nDCG@1000000", "nDCG@1000000"),
        ("AP(rel=30)", "AP(rel=30)"),
        ("AP( rel = 2 )", "AP(rel=2)"),
    ],
)
def test_names(written: str, name: str) -> None:
    assert str(parse_measure(written)) == name


@given(st.data())
def test_every_name_parses_back(data: st.DataObject) -> None:
    family = FAMILIES[data.draw(st.sampled_from(sorted(FAMILIES)))]
    cutoffs = {"required": st.integers(1, 1000), "none": st.none()}
    cutoff = data.draw(cutoffs.get(family.cutoff, st.none() | st.integers(1, 1000)))
    parameters = tuple((name, data.draw(st.integers(1, 30))) for name in sorted(family.parameters))
    measure = Measure(family.name, cutoff, parameters)
    assert parse_measure(str(measure)) == measure


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "expected a name"),
        ("nDCG@", "expected a name"),
        ("nDCG@-1", "expected a name"),
        ("nDCG@10@20", "expected a name"),
        ("ERR(max=2)@20(max=2)", "expected a name"),
        ("XYZ@10", "unknown; expected one of nDCG, AP"),
        ("ndcg_cut_0", "cutoff from 1"),
        ("gm_map", "expected a name"),
        ("P", r"expected a cutoff, such as P@10"),
        ("bpref@10", "does not support a cutoff"),
        ("nDCG@0", "cutoff from 1"),
        ("nDCG@1000001", "expected a cutoff from 1 to 1000000, found 1000001"),
        ("recip_rank_5", "expected a name"),
        ("nDCG(rel=2)", "invalid or repeated parameter 'rel=2'; nDCG accepts no parameters"),
        ("AP(max=2)", r"parameter 'max=2'; AP accepts rel=1 \(defaults\)"),
        ("AP(rel=1,rel=2)", "invalid or repeated parameter"),
        ("AP(rel=0)", "expected a value of rel from 1 to 30"),
        ("AP(rel=31)", "expected a value of rel from 1 to 30"),
        ("AP(rel=x)", "invalid or repeated parameter"),
    ],
)
def test_wrong_names(written: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_measure(written)


def test_help_names_the_default_measures() -> None:
    option, every = (
        get_type_hints(verb, include_extras=True)["measures"].__metadata__[0].help
        for verb in (attribute, evaluate)
    )
    assert option.endswith("Default: nDCG@10.")
    *first, last = DEFAULT_MEASURES
    assert every.endswith(f"Default: {', '.join(first)} and {last}.")


def test_lists_of_names() -> None:
    assert [str(m) for m in parse_measures(["AP", "MAP", "P@5", "AP"])] == ["AP", "P@5"]
    with pytest.raises(UsageError, match="at least one"):
        parse_measures([])
    assert len(parse_measures(DEFAULT_MEASURES)) == 7
    assert set(ALIASES.values()) <= set(FAMILIES)


def test_values_of_a_measure() -> None:
    measure = parse_measure("P@10")
    assert (measure.cutoff, measure["rel"]) == (10, 1)
    assert parse_measure("nDCG").cutoff is None
    assert parse_measure("ERR@20")["max"] == 4
    assert DEFAULT_MEASURES == ("nDCG", "nDCG@10", "P@10", "AP", "bpref", "RR", "ERR@20")
