"""Documents on the web: a page that is a PDF or an office file is read by the confined worker."""
import base64
import io
import os
import pathlib
import shutil
import unittest
import zipfile

from flow import FlowTest

WORKER = pathlib.Path(os.environ["FATHOM_BUILD"], "fathom-worker")


def make_pdf(text, padding=0):
    """A PDF of one page with a line of text, and a comment to make it large."""
    content = f"BT /F1 14 Tf 60 700 Td ({text}) Tj ET".encode()
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
               b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
               b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    out = io.BytesIO(b"")
    out.write(b"%PDF-1.4\n%" + b"x" * padding + b"\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = out.tell()
    out.write(b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % table)
    return out.getvalue()


def make_docx(text):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", """<?xml version="1.0"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml"
 ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>""")
        archive.writestr("_rels/.rels", """<?xml version="1.0"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>
</Relationships>""")
        archive.writestr("word/document.xml", f"""<?xml version="1.0"?>
<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>
<w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>""")
    return out.getvalue()


def reply(data, kind):
    return {"base64": base64.b64encode(data).decode(), "type": kind}


TEXT = "The lighthouse of Kell was built in 1857 by Maria Oswin."


RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>Kell Gazette</title><link>http://kell.example/</link>
<item><title>The lighthouse</title><link>http://kell.example/1</link><description>It was built in 1857.</description></item>
</channel></rss>"""
ATOM = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Kell Gazette</title><entry>
<title>The lighthouse</title><link href="http://kell.example/1"/><summary>It was built in 1857.</summary></entry></feed>"""
NOTEBOOK = """{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "markdown", "metadata": {},
"source": ["The lighthouse was built in 1857."]}]}"""


class VisitTexts(FlowTest):
    """What needs no worker, by whatever type it comes."""

    def test_texts_of_every_kind(self):
        texts = {"/rss": ("application/rss+xml", RSS), "/feed": ("text/xml", RSS), "/plain-feed": ("text/plain", RSS),
                 "/atom": ("application/atom+xml", ATOM), "/table.csv": ("text/csv", "what,built\nlighthouse,1857\n"),
                 "/n.ipynb": ("application/octet-stream", NOTEBOOK), "/data.json": ("application/json", '{"built": 1857}'),
                 "/notes.md": ("application/octet-stream", "# Kell\n\nThe lighthouse was built in 1857.\n"),
                 "/text": ("", "The lighthouse was built in 1857.\n"),
                 "/page": ("application/octet-stream", "<html><body><p>The lighthouse was built in 1857.</p></body></html>")}
        web, _ = self.stub_web({"pages": {path: {"type": kind, "body": body} for path, (kind, body) in texts.items()}})
        for path in texts:
            done = self.expect(0, "visit", f"{web}{path}", "--goal", "when was the lighthouse built", "--summarizer", "extractive",
                               "--allow-address", "127.0.0.1", "--no-config", "--no-cache")
            self.assertIn("1857", done.stdout, path)


@unittest.skipUnless(WORKER.exists(), "fathom-worker is not built")
class VisitDocuments(FlowTest):
    def visit(self, pages, path, *arguments, code=0):
        web, _ = self.stub_web({"pages": pages})
        return self.expect(code, "visit", f"{web}{path}", "--goal", "when was the lighthouse built", "--summarizer", "extractive",
                           "--allow-address", "127.0.0.1", "--no-config", *arguments)

    @unittest.skipUnless(shutil.which("pdftotext"), "pdftotext (poppler-utils) is not installed")
    def test_a_pdf_by_any_type(self):
        pdf = make_pdf(TEXT)
        pages = {"/a.pdf": reply(pdf, "application/pdf"), "/download": reply(pdf, "application/octet-stream"),
                 "/wrong": reply(pdf, "text/plain"), "/html": reply(pdf, "text/html")}
        for path in pages:
            self.assertIn("1857", self.visit(pages, path).stdout, path)

    @unittest.skipUnless(shutil.which("pdftotext"), "pdftotext (poppler-utils) is not installed")
    def test_a_pdf_may_be_larger_than_a_page(self):
        pages = {"/large.pdf": reply(make_pdf(TEXT, 12 << 20), "application/pdf")}
        self.assertIn("1857", self.visit(pages, "/large.pdf").stdout)

    @unittest.skipUnless(shutil.which("pdftotext"), "pdftotext (poppler-utils) is not installed")
    def test_a_pdf_comes_from_the_cache_too(self):
        web, log = self.stub_web({"pages": {"/a.pdf": {**reply(make_pdf(TEXT), "application/pdf"),
                                                       "headers": {"Cache-Control": "max-age=600"}}}})
        for _ in range(2):
            done = self.expect(0, "visit", f"{web}/a.pdf", "--goal", "when was the lighthouse built", "--summarizer",
                               "extractive", "--allow-address", "127.0.0.1", "--no-config")
            self.assertIn("1857", done.stdout)
        self.assertEqual(len(log.read_text().splitlines()), 1)

    def test_an_office_file(self):
        kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        self.assertIn("1857", self.visit({"/a.docx": reply(make_docx(TEXT), kind)}, "/a.docx").stdout)
        self.assertIn("1857", self.visit({"/a": reply(make_docx(TEXT), "application/octet-stream")}, "/a").stdout)

    def test_what_is_no_document(self):
        pages = {"/broken.pdf": reply(b"%PDF-1.4\nno more\n", "application/pdf"),
                 "/program": reply(b"\x7fELF\x02\x01\x01" + bytes(5000), "application/octet-stream")}
        for path in pages:
            done = self.visit(pages, path, code=1)
            self.assertNotIn("/tmp", done.stdout)
            self.assertNotIn("worker", done.stdout)
            self.assertRegex(done.stdout, r"could not be read|no page of text")


if __name__ == "__main__":
    unittest.main()
