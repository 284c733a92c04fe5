"""Lengths of IBANs by country (ISO 13616; SWIFT IBAN registry)."""

_REGISTRY = """
15 NO
16 BE
18 DK FI FK FO GL NL SD
19 MK SI
20 AT BA EE KZ LT LU XK MN
21 CH HR LI LV
22 BG BH CR DE GB GE IE ME RS VA
23 AE GI IL IQ OM SO TL
24 AD CZ ES MD PK RO SA SE SK TN VG
25 LY PT ST
26 IS TR
27 BI DJ FR GF GP GR IT MC MQ MR NC PF PM RE SM TF WF YT BL MF
28 AL AZ BY CY DO GT HN HU LB NI PL SV
29 BR EG PS QA UA
30 JO KW MU YE
31 MT SC
32 LC
33 RU
"""

IBAN_LENGTHS: dict[str, int] = {
    country: int(line.split()[0])
    for line in _REGISTRY.strip().splitlines()
    for country in line.split()[1:]
}
"""Number of characters of an IBAN by country code; includes French overseas territories."""
