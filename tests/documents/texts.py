"""Characters of all kinds, and texts that are made of them."""

from hypothesis import strategies as st

LETTERS = "aZzA@[`{é-ÉÀÞßÿ×÷ŒœŠΣσİıКдẞﬁ’€日ア🙂🄰ǅ_9 \n\xa0\u200d‿\U0001d49c\U00020000"
CHARACTERS = [chr(n) for n in range(0x110000) if not 0xD800 <= n < 0xE000]
TEXTS = st.lists(st.none() | st.text(LETTERS, max_size=12) | st.text(max_size=5), max_size=8)
