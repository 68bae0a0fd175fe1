"""Documents made by other programs (LibreOffice, poppler) and read by the readers, with the real child programs."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

READ = pathlib.Path(os.environ["FATHOM_BUILD"], "tests", "read_document")
DATA = pathlib.Path(os.environ["FATHOM_SOURCE"], "tests", "data", "documents")
OK, SYNTAX, TIMEOUT, DENIED, UNSUPPORTED = 0, 2, 7, 10, 11


def read(path, *options):
    """What read_document says about a file, with its Markdown as `text`."""
    done = subprocess.run([READ, path, *options], capture_output=True, timeout=120)
    if b"Sanitizer" in done.stderr:
        raise AssertionError(done.stderr.decode())
    line, _, text = done.stdout.decode().partition("\n")
    return {**json.loads(line), "text": text}


def needs(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    return unittest.skipIf(missing, f"not installed: {' '.join(missing)}")


class Made(unittest.TestCase):
    """A folder for the class, and LibreOffice with a profile of its own in it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="fathom-documents-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    @classmethod
    def make(cls, source, form):
        """Converts a file, once; `form` may name a filter: "pdf:writer_pdf_Export:{…}"."""
        source = pathlib.Path(source)
        out = cls.folder / form.split(":")[0]
        made = out / (source.stem + "." + form.split(":")[0])
        if made.exists():
            return made
        out.mkdir(exist_ok=True)
        subprocess.run(["soffice", f"-env:UserInstallation=file://{cls.folder}/profile", "--headless", "--convert-to",
                        form, "--outdir", out, source], capture_output=True, timeout=120, check=True,
                       env={**os.environ, "HOME": str(cls.folder)})
        return made


@needs("soffice")
class Office(Made):
    REPORT = """# Glacier melt

The **Aletsch** glacier lost 42 metres[^1] in a year, see [the data](https://example.org/data).

## Causes

- Warm summers
  - Less snow
- Dust
1. First step
2. Second step
  a) Sub step

## Figures

| Year | Length \\| km | Note |
| --- | --- | --- |
| 2022 | 22.6 | spans two |
| 2023 | 22.5 | spans two |

Umlauts: Grüße, 日本語, — dash.

[^1]: Measured in 2023."""
    SHEET = """## Sales

| Region | Day | Share | Total | Open | OK |
| --- | --- | --- | --- | --- | --- |
| North | 2024-02-29 | 12.5% | 42 | 08:30 | TRUE |

## Secret (hidden sheet)

hidden value"""
    TALK = """## Slide 1: Ice in numbers

- Half is gone
  - since 1900
- More to come

### Notes

Speak slowly here.

## Slide 2: Table slide

| Name | Area |
| --- | --- |
| Rhone | 15.9 |"""

    def check(self, source, form, kind, expected):
        found = read(self.make(DATA / source, form))
        self.assertEqual(found["status"], OK, found)
        self.assertEqual(found["kind"], kind)
        self.assertEqual(found["text"].strip(), expected)
        return found

    def test_text(self):
        for form, kind in (("docx", "Word document"), ("odt", "OpenDocument text"), ("doc", "office document"),
                           ("rtf", "office document")):
            with self.subTest(form):
                found = self.check("report.fodt", form, kind, self.REPORT)
                self.assertEqual(found["title"], "Glacier report")
                self.assertEqual([s[:2] for s in found["sections"]],
                                 [["Glacier melt", 1], ["Causes", 2], ["Figures", 2]])
                at = found["sections"][2][2]
                self.assertTrue(found["text"].encode()[at:].startswith(b"## Figures"))

    def test_sheets(self):
        for form, kind in (("xlsx", "Excel workbook"), ("ods", "OpenDocument spreadsheet"), ("xls", "office document")):
            with self.subTest(form):
                found = self.check("sheet.fods", form, kind, self.SHEET)
                self.assertEqual(found["pages"], 2)

    def test_slides(self):
        for form, kind in (("pptx", "PowerPoint presentation"), ("odp", "OpenDocument presentation"),
                           ("ppt", "office document")):
            with self.subTest(form):
                self.check("talk.fodp", form, kind, self.TALK)

    def test_book(self):
        found = read(self.make(DATA / "report.fodt", "epub"))
        self.assertEqual((found["kind"], found["title"], found["author"]), ("EPUB book", "Glacier report", "Ada Frost"))
        self.assertTrue(found["text"].startswith("# Glacier melt\n\nThe Aletsch glacier"), found["text"])
        self.assertIn("| Year | Length \\| km | Note |", found["text"])

    def test_old_forms_leave_nothing_behind(self):
        old = self.make(DATA / "report.fodt", "doc")
        temporary = self.folder / "temporary"
        temporary.mkdir()
        found = read(old, f"temp_dir={temporary}")
        self.assertEqual(found["status"], OK)
        self.assertIn("macros in it were not run", found["notice"])
        self.assertEqual(list(temporary.iterdir()), [])
        found = read(old, f"temp_dir={temporary}", "timeout_ms=200")
        self.assertEqual(found["status"], TIMEOUT, found)
        self.assertEqual(list(temporary.iterdir()), [])
        found = read(old, "soffice=")
        self.assertEqual(found["status"], UNSUPPORTED)
        self.assertIn("LibreOffice", found["message"])

    def test_cut_off(self):
        for form in ("docx", "xlsx", "pptx", "odt"):
            whole = self.make(DATA / {"docx": "report.fodt", "odt": "report.fodt", "xlsx": "sheet.fods",
                                      "pptx": "talk.fodp"}[form], form).read_bytes()
            for part in range(1, 8):
                cut = self.folder / f"cut.{form}"
                cut.write_bytes(whole[:len(whole) * part // 8])
                found = read(cut)
                self.assertTrue(found["status"] == OK or found["message"], (form, part))


@needs("soffice", "pdftotext", "pdfinfo")
class Pdf(Made):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pdf = cls.make(DATA / "report.fodt", "pdf")

    def test_text_and_properties(self):
        found = read(self.pdf)
        self.assertEqual((found["kind"], found["pages"], found["title"], found["author"]),
                         ("PDF document", 1, "Glacier report", "Ada Frost"))
        self.assertEqual(found["sections"], [["Page 1", 2, 0]])
        self.assertTrue(found["text"].startswith("## Page 1\n\nGlacier melt\nThe Aletsch glacier lost 42 metres1"))
        self.assertRegex(found["text"], r"Year +Length \| km +Note\n2022 +22\.6 +spans two")

    def test_pages(self):
        found = read(self.make(DATA / "talk.fodp", "pdf"))
        self.assertEqual([s[0] for s in found["sections"]], ["Page 1", "Page 2"])
        self.assertEqual(found["pages"], 2)

    def test_encrypted(self):
        options = {"EncryptFile": {"type": "boolean", "value": "true"},
                   "DocumentOpenPassword": {"type": "string", "value": "secret"}}
        locked = self.make(shutil.copy(DATA / "report.fodt", self.folder / "locked.fodt"),
                           "pdf:writer_pdf_Export:" + json.dumps(options))
        found = read(locked)
        self.assertEqual((found["status"], found["message"]),
                         (DENIED, "the PDF is encrypted: save it without a password"))

    def test_broken(self):
        whole = self.pdf.read_bytes()
        for name, contents in (("half", whole[:len(whole) // 2]), ("head", b"%PDF-1.7\n"),
                               ("noise", b"%PDF-1.7\n" + bytes(range(256)) * 50), ("spoiled", whole.replace(b"obj", b"bog"))):
            broken = self.folder / f"{name}.pdf"
            broken.write_bytes(contents)
            found = read(broken)
            self.assertIn(found["status"], (OK, SYNTAX, UNSUPPORTED), found)
            if found["status"] != OK:
                self.assertIn("PDF", found["message"])
                self.assertNotIn(str(self.folder), found["message"])

    def test_without_its_program(self):
        found = read(self.pdf, "pdftotext=")
        self.assertEqual(found["status"], UNSUPPORTED)
        self.assertIn("pdftotext", found["message"])
        found = read(self.pdf, "pdftotext=/nowhere/at-all")
        self.assertEqual(found["status"], UNSUPPORTED)
        self.assertNotIn("/nowhere", found["message"])

    def test_more_than_the_cap(self):
        found = read(self.pdf, "max_bytes=200")
        self.assertEqual((found["status"], found["truncated"]), (OK, True))
        self.assertLessEqual(len(found["text"].encode()), 200)


@needs("soffice", "pdftoppm", "tesseract")
class Pictures(Made):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        pdf = cls.make(DATA / "report.fodt", "pdf")
        subprocess.run(["pdftoppm", "-r", "150", "-jpeg", "-singlefile", pdf, cls.folder / "page"], check=True)
        cls.picture = cls.folder / "page.jpg"

    def scanned(self, pages):
        """A PDF whose pages are the picture."""
        jpeg = self.picture.read_bytes()
        height, width = re.search(rb"\xff\xc0...(..)(..)", jpeg, re.S).groups()
        width, height = int.from_bytes(width, "big"), int.from_bytes(height, "big")
        draw = f"q {width} 0 0 {height} 0 0 cm /I Do Q".encode()
        kids = " ".join(f"{5 + i} 0 R" for i in range(pages))
        objects = [b"<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Kids[{kids}]/Count {pages}>>".encode(),
                   b"<</Type/XObject/Subtype/Image/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode"
                   + f"/Width {width}/Height {height}/Length {len(jpeg)}>>stream\n".encode() + jpeg + b"\nendstream",
                   f"<</Length {len(draw)}>>stream\n".encode() + draw + b"\nendstream"]
        objects += [f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {width} {height}]/Contents 4 0 R"
                    "/Resources<</XObject<</I 3 0 R>>>>>>".encode()] * pages
        body, places = b"%PDF-1.4\n", []
        for number, contents in enumerate(objects, 1):
            places.append(len(body))
            body += b"%d 0 obj\n" % number + contents + b"\nendobj\n"
        table = b"".join(b"%010d 00000 n \n" % place for place in places)
        body += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + \
            b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(body))
        path = self.folder / f"scan{pages}.pdf"
        path.write_bytes(body)
        return path

    def test_picture(self):
        found = read(self.picture)
        self.assertEqual((found["status"], found["kind"]), (OK, "image"), found)
        self.assertIn("Warm summers", found["text"])
        self.assertIn("OCR", found["notice"])

    def test_picture_without_tesseract(self):
        found = read(self.picture, "tesseract=")
        self.assertEqual(found["status"], UNSUPPORTED)
        self.assertIn("vision model", found["message"])

    def test_scanned_pages(self):
        found = read(self.scanned(2))
        self.assertEqual(found["status"], OK, found)
        self.assertEqual(found["text"].count("Warm summers"), 2)
        self.assertIn("2 of 2 pages", found["notice"])

    def test_scanned_pages_are_bounded(self):
        found = read(self.scanned(3), "max_ocr_pages=1")
        self.assertEqual(found["text"].count("Warm summers"), 1)
        self.assertIn("2 of 3 pages hold no text", found["notice"])

    def test_scanned_pages_without_tesseract(self):
        found = read(self.scanned(1), "tesseract=")
        self.assertEqual(found["status"], UNSUPPORTED)
        self.assertIn("tesseract", found["message"])

    def test_broken_picture(self):
        broken = self.folder / "broken.png"
        broken.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 100)
        self.assertIn(read(broken)["status"], (SYNTAX, UNSUPPORTED))


class Large(Made):
    def test_table_in_bounded_memory(self):
        path = self.folder / "large.csv"
        line = "17,2024-05-01,\"some, text\",3.25\n"
        with path.open("w") as file:
            file.write("id,day,what,price\n")
            for _ in range(40):
                file.write(line * 50000)
        found = read(path, "max_bytes=4000000")
        self.assertEqual((found["status"], found["truncated"]), (OK, True))
        self.assertIn("2000000 rows, 4 columns.", found["text"])
        self.assertIn("| day | 2000000 | date | 2024-05-01 to 2024-05-01 |", found["text"])
        self.assertLess(found["peak_kb"] * 1024, path.stat().st_size)

    def test_log_is_cut(self):
        path = self.folder / "large.log"
        path.write_text("a line of a log\n" * 1000000)
        found = read(path, "max_bytes=100000")
        self.assertEqual((found["status"], found["truncated"]), (OK, True))
        self.assertLessEqual(len(found["text"]), 100001)


if __name__ == "__main__":
    unittest.main()
