import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.queries import detect_personal_data


def kind(text: str) -> str | None:
    found: str | None = detect_personal_data(pl.Series([text]))[0]
    return found


def nir(first: str) -> str:
    key = 97 - int(first.replace("2A", "19").replace("2B", "18")) % 97
    return f"{first}{key:02d}"


def luhn(first: str) -> str:
    for digit in "0123456789":
        total = 0
        for place, character in enumerate(reversed(first + digit)):
            value = int(character) * (1 + place % 2)
            total += value - 9 if value > 9 else value
        if total % 10 == 0:
            return first + digit
    raise AssertionError


def iban(country: str, account: str) -> str:
    letters = "".join(str(int(c, 36)) for c in account + country + "00")
    return f"{country}{98 - int(letters) % 97:02d}{account}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jean.dupont@poste.example", "email"),
        ("écrire à Jean @ poste . example", "email"),
        ("ｊｅａｎ＠ｐｏｓｔｅ．ｆｒ", "email"),
        ("qui appelle 06 12 34 56 78", "phone"),
        ("0612345678", "phone"),
        ("01.49.52.63.11", "phone"),
        ("+33 6 12 34 56 78", "phone"),
        ("+33 (0)6 12 34 56 78", "phone"),
        ("0033612345678 inconnu", "phone"),
        ("+32 2 555 12 12", "phone"),
        ("33612345678", "phone"),
        ("qui est 33 7 12 34 56 78", "phone"),
        ("01_49_52_63_11", "phone"),
        ("01\u201149\u201152\u201163\u201111", "phone"),
        ("01 – 49 – 52 – 63 – 11", "phone"),
        ("01 . 49 . 52 . 63 . 11", "phone"),
        ("01·49·52·63·11", "phone"),
        ("06 12-34-56-78", "phone"),
        ("tel 06.12 34-56 78", "phone"),
        ("+33 6 12.34-56 78", "phone"),
        ("01  49  52  63  11", "phone"),
        ("01\u200b49\u200b52\u200b63\u200b11", "phone"),
        ("014\u00ad952\u00ad6311", "phone"),
        ("FR76_3000_6000_0112_3456_7890_189", "iban"),
        ("4111\u22121111\u22121111\u22121111", "card"),
        ("FR76 3000 6000 0112 3456 7890 189", "iban"),
        ("virement fr7630006000011234567890189 banque", "iban"),
        ("MT84MALT011000012345MTLCAST001S", "iban"),
        (nir("1850578006084"), "nir"),
        (nir("285052A006084"), "nir"),
        ("2 69 05 49 588 157 80 sécu", "nir"),
        ("4111 1111 1111 1111", "card"),
        ("code 12 4111-1111-1111-1111", "card"),
        (luhn("37828224631000"), "card"),
        (luhn("3056930902590"), "card"),
        ("91.198.174.192", "ip"),
        ("2a02:8400::1 bloqué", "ip"),
        ("jean.dupont.@mail.example", "email"),
        ("MT84 MALT 0110 0001 2345 MTLC AST0 01S", "iban"),
        ("CZ65 0800 0000 1920 0014 5399", "iban"),
        ("AZ21NABZ00000000137010001944", "iban"),
        ("4000001234567899018", "card"),
        ("12 2 6 9 0 5 4 9 5 8 8 1 5 7 8 0", "nir"),
    ],
)
def test_personal_data_is_found(text: str, expected: str) -> None:
    assert kind(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "FR76 3000 6000 0112 3456 7890 188",
        "FR75 3000 6000 0112 3456 7890 189",
        "FR76 3000 6000 0112 3456 \u00e9890 189",
        "FR23 3000 6000 0112 3456 7890",
        nir("1850578006084")[:-1] + "0",
        "1850578006084 92",
        "4111 1111 1111 1112",
        "4111 1111 et 1111 1111",
        "192.168.1.1",
        "version 10.0.19041.1",
        "0800 123 456",
        "33123456789",
        "33700 06 12 34",
        "133612345678",
        "0171 1234567",
        "0475/12.34.56",
        "(555) 123-4567",
        "0892 70 50 50",
        "horaires 12:30:45",
        "01/02/2022 03/04/2023",
        "05-06/07-08 09",
        "01 02 2020 – 03 04 2021",
        "de 05_06 à 07_08",
        "05.06.2022 - 07.08.2023",
        "0 12 34.56-78",
        "code postal 75011 paris",
        "@pseudo réseau social",
        "iphone 12 256 go",
        "loi 2016-1088 du 8 août 2016",
        "1 2 3 soleil",
        "c++ std::vector",
        "perl Data::Dumper",
        "fe80::1",
        "",
    ],
)
def test_other_numbers_are_not(text: str) -> None:
    assert kind(text) is None


def test_null_stays_null() -> None:
    assert detect_personal_data(pl.Series([None, "eau"], dtype=pl.String)).to_list() == [None, None]


words = st.sampled_from(["", "mon ", "le compte ", "99 ", "tel. "])
spaces = st.sampled_from(["", " ", "-", ".", "_", "\u2013"])


def spaced(number: str, size: int, space: str) -> str:
    return space.join(number[i : i + size] for i in range(0, len(number), size))


@given(words, st.integers(0, 10**11 - 1), spaces)
def test_every_valid_iban_is_found(before: str, account: int, space: str) -> None:
    number = iban("FR", f"{account:011d}" + "0" * 12)
    assert kind(before + spaced(number, 4, space)) == "iban"


@given(words, st.integers(0, 10**6 - 1), st.integers(1, 12), spaces)
def test_every_valid_nir_is_withheld(before: str, tail: int, month: int, space: str) -> None:
    number = nir(f"285{month:02d}75{tail:06d}")
    assert kind(before + spaced(number, 3, space)) == "nir"


@given(words, st.integers(0, 10**14 - 1), spaces)
def test_every_valid_card_is_withheld(before: str, number: int, space: str) -> None:
    assert kind(before + spaced(luhn(f"4{number:014d}"), 4, space)) == "card"


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert kind(text) in {None, "email", "phone", "iban", "nir", "card", "ip"}


def test_hostile_text_is_read_in_linear_time() -> None:
    """Quadratic patterns would need minutes for these."""
    hostile = ["1 " * 20_000, "a@" * 20_000, "1." * 20_000, "a:" * 20_000, "fr76 " * 10_000]
    assert detect_personal_data(pl.Series(hostile)).len() == len(hostile)
