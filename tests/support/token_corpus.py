"""Texts to compare tokenizers on: sentences of many languages, code, pages, recorded runs, and whatever is hard about
Unicode. Everything is made from a seed, so that a difference can be found again."""
import base64
import collections
import functools
import gzip
import json
import os
import pathlib
import random
import sys
import unicodedata

SOURCE = pathlib.Path(os.environ.get("FATHOM_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
SHARED = SOURCE.parent / "shared" / "data"

LANGUAGES = {
    "English": "The lighthouse was built in 1857, didn't you know? It's 31.5 metres high; the keepers' house (now a museum) "
    "opened at 9 a.m. \"They'll restore it,\" she said, \"and we've got $1,250,000 for that.\" I'd've gone there.",
    "German": "Der Leuchtturm wurde 1857 gebaut; er ist 31,5 Meter hoch. Größere Schiffe fuhren weiter südlich, "
    "über die Straße von Dänemark. „Schön“, sagte Äbtissin Ölga, Übergröße: 3.000 €.",
    "French": "Le phare fut construit en 1857 : l'été, on y va à pied. C'est là qu'habitait le gardien, où l'œuvre fût "
    "achevée… « Peut-être », dit-elle, aujourd'hui même.",
    "Turkish": "İstanbul'daki deniz feneri 1857'de yapıldı; ışığı ILIK gecelerde görülürdü. Çığ, şair, ağaç, ĞÜŞİÖÇ.",
    "Vietnamese": "Ngọn hải đăng được xây năm 1857, cao ba mươi mốt mét rưỡi; người gác đèn ở đấy đã lâu lắm rồi.",
    "Russian": "Маяк построен в 1857 году, его высота — 31,5 метра. «Ещё бы!» — сказал смотритель, съёмка объявлена.",
    "Greek": "Ο φάρος χτίστηκε το 1857 και έχει ύψος 31,5 μέτρα. ΤΟΥΣ ΟΔΥΣΣΕΑΣ, ᾳδης, ἄνθρωπος, ὣς εἶπεν.",
    "Chinese": "这座灯塔建于1857年，高三十一点五米。“真的吗？”她问道，“我们明天去看看吧！”守塔人说：票价是￥25元（含税）。",
    "Chinese, traditional": "這座燈塔建於1857年，高三十一點五公尺。「真的嗎？」她問道，「我們明天去看看吧！」𠀋𡈽𤭢。",
    "Japanese": "その灯台は1857年に建てられ、高さは31.5メートルです。「本当ですか？」と彼女は言った。ｶﾞﾗｽ、ﾊﾟﾝ、東京タワー、々〆ヶ。",
    "Korean": "그 등대는 1857년에 지어졌고 높이는 31.5미터입니다. \"정말이에요?\" 하고 그녀가 물었다. 뷁쀍 ㅋㅋㅋ ㅠㅠ",
    "Arabic": "بُنيت المنارة عام ١٨٥٧، وارتفاعها ٣١٫٥ مترًا؛ هل زرتَها؟ قال الحارس: «نعم»، لا إلهَ إلّا ﷲ ﷺ.",
    "Persian": "فانوس دریایی در سال ۱۸۵۷ ساخته شد؛ می‌خواهم آن را ببینم. خانه‌های کوچک.",
    "Hebrew": "המגדלור נבנה בשנת 1857, וגובהו 31.5 מטר. בְּרֵאשִׁית בָּרָא אֱלֹהִים; צה\"ל.",
    "Hindi": "यह प्रकाशस्तंभ १८५७ में बना था और इसकी ऊँचाई ३१.५ मीटर है। क्या आपने इसे देखा? क़लम, ज़मीन, श्री कृष्ण, र्‍य।",
    "Bengali": "বাতিঘরটি ১৮৫৭ সালে তৈরি হয়েছিল, উচ্চতা ৩১.৫ মিটার। ক্ষুদ্র, স্ত্রী, ড়ঢ়য়।",
    "Tamil": "கலங்கரை விளக்கம் 1857-இல் கட்டப்பட்டது; உயரம் 31.5 மீட்டர். கொ கௌ ஸ்ரீ.",
    "Thai": "ประภาคารแห่งนี้สร้างขึ้นในปี พ.ศ. ๒๔๐๐ สูง ๓๑.๕ เมตร น้ำท่วมทุ่ง ผักบุ้งโหรงเหรง ที่นี่เปิดกี่โมงคะ",
    "Burmese": "မီးပြတိုက်ကို ၁၈၅၇ ခုနှစ်တွင် ဆောက်လုပ်ခဲ့သည်။ ကျွန်ုပ်တို့ သွားကြည့်မည်။",
    "Khmer": "ប៉មភ្លើងហ្វារត្រូវបានសាងសង់នៅឆ្នាំ ១៨៥៧ កម្ពស់ ៣១.៥ ម៉ែត្រ។",
    "Tibetan": "བོད་ཡིག་གི་དཔེ་ཆ་༢༠༢༤ལོར་བྲིས།",
    "Georgian": "შუქურა 1857 წელს აშენდა. ᲨᲣᲥᲣᲠᲐ, საქართველო.",
    "Armenian": "Փարոսը կառուցվել է 1857 թվականին։ ՓԱՐՈՍ և ծով։",
    "Amharic": "የመብራት ቤቱ በ፲፰፻፶፯ ዓ.ም. ተሠራ። ሰላም፣ ዓለም!",
    "Cherokee": "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ, ꮳꮃꭹ.",
    "Mathematics": "∀ε>0 ∃δ>0: |x−a|<δ ⇒ |f(x)−L|<ε; ∑ₙ₌₁^∞ 1/n² = π²⁄6 ≈ 1.645; 𝔸𝕓𝒄𝖉 ½ ⅔ Ⅳ ⅻ ② ⑽ ㈣ ㊿ ㎏ ﬁ ﬃ Å Ω K.",
}

EMOJI = ("👩‍👩‍👧‍👦 👨🏽‍🚀 🏳️‍🌈 🏴‍☠️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪🇫🇷🇯🇵🇺 1️⃣ #️⃣ *⃣ ❤️‍🔥 ☺︎ ☺️ 🤷🏿‍♀️ 👍🏻👍🏼👍🏽👍🏾👍🏿 🧑‍🤝‍🧑 🫠🫡🫨🪿🫩🫆 ™️ ©️ 🅰️ ㊗️ 🀄 ⏏️ 👁️‍🗨️"
         ).split(" ")
SPACES = list(
    " \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2000\u2003\u200a\u200b\u2028\u2029\u202f\u205f\u3000\ufeff\u2060")
QUOTES = ["'", "'", "'", "\u2019", "`", "\u02bc", "''", "\""]
ENDINGS = [
    "s", "t", "re", "ve", "m", "ll", "d", "S", "T", "RE", "Re", "rE", "VE", "vE", "M", "LL", "lL", "D", "\u017f", "\u017fe",
    "\u1e9b", "r", "l", "v", "se", "tt", "rex", "\u212a", "\u0130", "\u0131"
]
CODE_LIKE = [
    "if (a[i] != b[j]) {\n\t\treturn -1;\n\t}\n", "def f(x: int = 0x1F) -> str:\n    return f\"{x!r}\"\n\n\n",
    "#!/bin/sh\nset -eu\n", "SELECT * FROM t WHERE id=1 -- x\r\n", "<div class=\"a b\"><p>&nbsp;x</p>\n</div>\r\n\r\n",
    "{\"a\": [1, 2.5e-3, null], \"b\":\"\\u00e9\\n\"}", "https://example.org/a/b_c?d=1&e=%20#f",
    "std::vector<int>::iterator it;", "x = {**a, 'b': [c for c in d]}  # ok\n", "/usr/share//doc/../x\\y\\z",
    "CamelCaseHTTPServer snake_case_name kebab-case-name SCREAMING_CASE",
    "1234567890123 3.14159 1,000,000 0xDEADBEEF 1e10 ١٢٣٤ 12345६७८"
]


@functools.cache
def by_category():
    groups = collections.defaultdict(list)
    for c in map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1))):
        groups[unicodedata.category(c)].append(c)
    return groups


def several(source, choices, least, most):
    return [source.choice(choices) for _ in range(source.randint(least, most))]


def languages(source, count):
    for text in LANGUAGES.values():
        yield text
        yield text.upper()
        yield unicodedata.normalize("NFD", text)
        yield unicodedata.normalize("NFKC", text)
    pieces = list(LANGUAGES.values())
    for _ in range(count):
        words = [source.choice(pieces) for _ in range(3)]
        cut = [text[source.randrange(len(text)):][:source.randint(1, 60)] for text in words]
        yield source.choice(["", " ", "\n", "\n\n"]).join(cut)


def emoji(source, count):
    joiners = ["", "", " ", "\u200d", "\ufe0f", "\ufe0e", "\u20e3", "a", "1"]
    for _ in range(count):
        yield "".join(source.choice(EMOJI) + source.choice(joiners) for _ in range(source.randint(1, 30)))


def code(source, count):
    files = [
        path for place in ("src", "tests", "docs", "prompts") for path in sorted(SOURCE.glob(f"{place}/**/*"))
        if path.suffix in (".c", ".h", ".py", ".md", ".txt", ".yaml", ".sql", ".sh")
    ]
    for path in source.sample(files, min(len(files), count // 20)):
        yield path.read_text(encoding="utf-8", errors="replace")[:6000]
    for _ in range(count):
        yield "".join(several(source, CODE_LIKE + SPACES[:4], 1, 6))


def random_unicode(source, count):
    groups = by_category()
    everything = [c for group in groups.values() for c in group]
    newest = [
        c for lo, hi in ((0x1E4D0, 0x1E4F9), (0x16D40, 0x16D79), (0x10D40, 0x10D8F), (0x1C80, 0x1C8A), (0xA7C0, 0xA7DC),
                         (0x31350, 0x323AF), (0x2EBF0, 0x2EE5D), (0x1FA70, 0x1FAF8), (0x11F00, 0x11F59), (0x10EC2, 0x10EFF),
                         (0x1E5D0, 0x1E5FF), (0x105C0, 0x105F3), (0x113D0, 0x113E2), (0x16100, 0x16139), (0x11BC0, 0x11BF9),
                         (0x1CC00, 0x1CCF9), (0x0870, 0x08FF), (0x0C5C, 0x0C5E)) for c in map(chr, range(lo, hi + 1))
    ]
    for n in range(count):
        if n % 4 == 0:
            yield "".join(several(source, everything, 1, 60))
        elif n % 4 == 1:
            yield "".join(source.choice(groups[source.choice(sorted(groups))]) for _ in range(source.randint(1, 80)))
        elif n % 4 == 2:
            start = source.randrange(0x20, 0x30000)
            block = [chr(c) for c in range(start, start + 200) if not 0xD800 <= c < 0xE000]
            yield "".join(several(source, block + [" "] * 20, 1, 60))
        else:
            yield "".join(several(source, newest + [" ", "a", "A", "1", "'", "\n", "."] * 20, 1, 60))
    most = min(300, 3 * count)
    for group in sorted(groups):
        yield " ".join(source.sample(groups[group], min(len(groups[group]), most)))
        yield "".join(source.sample(groups[group], min(len(groups[group]), most)))


def marks(source, count):
    groups = by_category()
    combining = groups["Mn"] + groups["Mc"] + groups["Me"]
    composing = [
        c for group, some in groups.items() if group not in ("Cn", "Co") for c in some
        if not unicodedata.is_normalized("NFKD", c)
    ]
    jamo = [chr(c)
            for c in range(0x1100, 0x1200)] + [chr(c)
                                               for c in range(0xA960, 0xA980)] + [chr(c) for c in range(0xD7B0, 0xD800)]
    common = [chr(c) for c in range(0x300, 0x370)] + [chr(c) for c in range(0x591, 0x5C8)
                                                      ] + ["\u0e31", "\u0e34", "\u3099", "\u309a", "\u093c", "\u05bc"]
    for n in range(count):
        out = []
        for _ in range(source.randint(1, 12)):
            kind = source.randrange(5)
            if kind == 0:
                out += [source.choice("aeiouAEOnNsScCyYgG <=>"), *several(source, common, 0, 6)]
            elif kind == 1:
                out += [source.choice(composing), *several(source, combining, 0, 3)]
            elif kind == 2:
                out += several(source, jamo, 1, 6) + several(source, common, 0, 1)
            elif kind == 3:
                out += [unicodedata.normalize("NFD", source.choice(composing))[::source.choice((1, -1))]]
            else:
                out += [chr(source.randrange(0xAC00, 0xD7A4)), source.choice(["", "\u11a8", "\u11a7", "\u11c2"])]
        yield "".join(out)
    starts = range(0, len(composing), 400)
    for start in sorted(source.sample(starts, min(len(starts), count))):
        yield "".join(composing[start:start + 400])


def whitespace(source, count):
    for _ in range(count):
        some = source.sample(SPACES, source.randint(1, 4)) + [" ", "\n"]
        others = ["a", "Word", "1", "42", ".", "!?", "中", "é", "'s", "_", "\u0301", ""]
        yield "".join("".join(several(source, some, 0, 9)) + source.choice(others) for _ in range(source.randint(1, 12)))


def contractions(source, count):
    for _ in range(count):
        yield "".join(
            source.choice(["I", "we", "", " ", "1", "中", "É", ".", "\n", "ſ", "x\u0301"]) + source.choice(QUOTES) +
            source.choice(ENDINGS) + source.choice(["", " ", "a", "'", "Z", "1"]) for _ in range(source.randint(1, 12)))


def digits(source, count):
    groups = by_category()
    for _ in range(count):
        one = groups[source.choice(("Nd", "Nd", "Nl", "No"))]
        some = several(source, one, 1, 12) + list("0123456789")
        yield "".join("".join(several(source, some, 1, 9)) + source.choice(["", " ", ",", ".", "a", "年", "\n", "-"])
                      for _ in range(source.randint(1, 8)))


def small_alphabets(source, count):
    """Where the alternatives of a pattern meet, nearly exhaustively."""
    alphabets = [
        "a '\n", "aA's", "Aa1 .", " \n\r\tx", "中a。 ", "é\u0301eE'", "/.\n\r ", "_-aB1", "\u01c5aA\u02b0", "ªa1²\u0660",
        "\U0001f600\u200da ", "'’sSſ"
    ]
    for _ in range(count):
        alphabet = source.choice(alphabets)
        if source.random() < 0.3:
            alphabet += source.choice(alphabets)
        yield "".join(several(source, alphabet, 1, 24))


def runs(source, count):
    longest = 3000 if count > 5 else 300
    data = base64.b64encode(source.randbytes(3 * longest)).decode()
    units = [
        "a", "A", " ", "\n", "\t", "=", "-", ".", "0", "1", "中", "é", "\u0301", "👍", "\r\n", " a", "ab", "abc", "aA", "'s",
        "\u3000", "_", "#", "ا", "น้ำ", "\U0001d400", "na", "hello", "Ha", " \n", "!?", "~", "\u200d", "\u0e01", "\x00",
        "\u2581", "x9"
    ]
    for unit in units:
        length = source.randint(2, longest)
        yield (unit * (length // len(unit) + 1))[:length]
        yield "x " + unit * source.randint(1, 200) + " y"
    yield data[:longest]
    yield "".join(source.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(longest))
    yield "".join(chr(source.randrange(0x4E00, 0x9FA5)) for _ in range(longest // 3))
    yield "".join(chr(source.randrange(0xAC00, 0xD7A4)) for _ in range(longest // 3))
    for _ in range(count):
        yield source.choice(units) * source.randint(1, 70) + source.choice(units) * source.randint(1, 70)


def invalid_bytes(source, count):
    """Bytes, not text: no UTF-8."""
    parts = [
        b"\x80", b"\xbf", b"\xc0\xaf", b"\xc1", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xf0\x80\x80\x80",
        b"\xf4\x90\x80\x80", b"\xf5", b"\xff", b"\xfe", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xf0\x9f", b"\xc3", b"\xe4", b"a",
        b" ", b"\n", "中".encode(), "😀".encode(), "é".encode(), b"\xef\xbb\xbf", b"\xef\xbf\xbd", b"\xef\xbf\xbe"
    ]
    for n in range(count):
        if n % 3 == 0:
            yield source.randbytes(source.randint(1, 60))
        else:
            yield b"".join(several(source, parts, 1, 20))


MADE = {
    "languages": (languages, 150),
    "emoji": (emoji, 60),
    "code": (code, 200),
    "Unicode": (random_unicode, 400),
    "marks": (marks, 200),
    "white space": (whitespace, 300),
    "contractions": (contractions, 200),
    "digits": (digits, 150),
    "small alphabets": (small_alphabets, 800),
    "runs": (runs, 60),
    "invalid": (invalid_bytes, 150)
}


@functools.cache
def made(scale=1, seed=1):
    """(kind, bytes) of all that is made up."""
    out = []
    for kind, (make, count) in MADE.items():
        for text in make(random.Random(f"{seed} {kind}"), int(count * scale)):
            out.append((kind, text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")))
    return out


def vocabulary_soup(tokens, seed=1, count=300):
    """Tokens of a vocabulary (bytes) in random order, as no writer would put them."""
    source = random.Random(f"{seed} soup")
    for _ in range(count):
        yield "vocabulary", b"".join(several(source, tokens, 1, 30))


def special_soup(specials, seed=1, count=200):
    """Special tokens (texts), whole, cut and glued to anything."""
    source = random.Random(f"{seed} special")
    around = [
        "", "", "", " ", "  ", "\n", "\n\n", "a", "A1", "中", "<", "|>", "<|", "\u0301", "_", "é", "\u3000", "hello world",
        "'s", "\t", "[", "]", "</", "\u2581"
    ]
    for _ in range(count if specials else 0):
        out = []
        for _ in range(source.randint(1, 10)):
            token = source.choice(specials)
            if source.random() < 0.15:
                token = token[:source.randint(0, len(token))] + token[source.randint(0, len(token)):]
            out += [source.choice(around), token, source.choice(around)]
        yield "special tokens", "".join(out).encode()


def lines_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def recorded():
    """(kind, bytes) of everything in the shared data; nothing where there is none."""
    for path in sorted(SHARED.glob("articles/**/*.html.gz")):
        with gzip.open(path, "rb") as file:
            yield "pages", file.read()
    for path in sorted(SHARED.glob("articles/**/*.json")):
        yield "JSON", path.read_bytes()
    for path in sorted(SHARED.glob("datasets/*.[cj]s*")):
        yield "JSON", path.read_bytes()
    for path in sorted(SHARED.glob("transcripts/*.gz")):
        for row in lines_of(path):
            for text in [m["content"] for m in row["messages"]] if "messages" in row else [row["completion"]]:
                yield "transcripts", text.encode()
    for path in sorted(SHARED.glob("search/*.gz")):
        with gzip.open(path, "rb") as file:
            for line in file:
                yield "search", line
    for path in sorted(SHARED.glob("retrieval/*/*")):
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rb") as file:
            text = file.read()
        for start in range(0, len(text), 50000):
            yield "retrieval", text[start:start + 50000]
    for path in sorted(SHARED.glob("**/*.tar.gz")) + sorted(SHARED.glob("**/*.xlsx")):
        yield "no text", path.read_bytes()[:100000]


@functools.cache
def sample(budget, seed=1):
    """A random part of what is recorded: `budget` bytes for each kind at most, long texts cut."""
    source = random.Random(f"{seed} sample")
    kinds, out, longest = {}, [], min(20000, budget)
    for kind, text in recorded():
        kinds.setdefault(kind, []).append(text)
    for kind, texts in kinds.items():
        source.shuffle(texts)
        left = budget
        for text in texts:
            if left <= 0:
                break
            start = source.randrange(max(1, len(text) - longest))
            part = text[start:start + longest]
            left -= len(part)
            out.append((kind, part))
    return out
