"""Invented personal data with valid check digits, such as people type into search boxes."""

from builder.simulation.draw import Draw

FIRST = ("camille", "louise", "jules", "adam", "lina", "hugo", "nora", "paul")
LAST = ("martin", "petit", "durand", "moreau", "leroy", "garnier", "faure", "lambert")
KINDS = ("email", "phone", "iban", "nir", "card", "ip")


def personal_query(seed: int, number: int) -> tuple[str, str]:
    """A query with personal data, and its kind."""
    draw = Draw(seed, number, 77)
    kind = KINDS[number % len(KINDS)]
    name = f"{draw.choose(FIRST)} {draw.choose(LAST)}"
    return f"{name} {_value(kind, name, draw)}", kind


def _value(kind: str, name: str, draw: Draw) -> str:
    if kind == "email":
        return f"{name.replace(' ', '.')}{draw.below(100)}@courriel.example"
    if kind == "phone":
        return "06 " + " ".join(f"{draw.below(100):02d}" for _ in range(4))
    if kind == "iban":
        return _iban(draw)
    if kind == "nir":
        return _nir(draw)
    if kind == "card":
        return _card(draw)
    return f"8.8.{draw.below(256)}.{1 + draw.below(254)}"


def _digits(draw: Draw, count: int) -> str:
    return "".join(str(draw.below(10)) for _ in range(count))


def _iban(draw: Draw) -> str:
    account = _digits(draw, 23)
    check = 98 - int(account + "1527" + "00") % 97
    whole = f"FR{check:02d}{account}"
    return " ".join(whole[i : i + 4] for i in range(0, len(whole), 4))


def _nir(draw: Draw) -> str:
    number = (
        f"{1 + draw.below(2)}{50 + draw.below(50)}{1 + draw.below(12):02d}{10 + draw.below(80)}"
    )
    number += _digits(draw, 6)
    return f"{number}{97 - int(number) % 97:02d}"


def _card(draw: Draw) -> str:
    number = "4" + _digits(draw, 14)
    total = sum(sum(divmod(2 * int(d), 10)) for d in number[::2]) + sum(map(int, number[1::2]))
    return f"{number}{-total % 10}"
