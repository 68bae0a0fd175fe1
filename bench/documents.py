"""How fast documents become Markdown: PDF, DOCX and XLSX, beside pdftotext itself and beside markitdown (PyPI) where it
can be installed, in the same run on the same files, which are made here. Usage: documents.py READ_DOCUMENT [FOLDER]

MB/s count the bytes of the file. Each figure is the best of several runs; processes' start counts for all but markitdown,
which is timed inside one process after its imports."""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile

RUNS = 5
WORDS = ("glacier water ice summer snow valley measure report region water level record station height data year "
         "change mountain river winter model error value mean annual loss gain field camera").split()
MARKITDOWN = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
from markitdown import MarkItDown
reader = MarkItDown()
found = {}
for path in sys.argv[2:]:
    best = None
    for _ in range(int(sys.argv[1])):
        start = time.perf_counter()
        text = reader.convert(path).text_content
        took = time.perf_counter() - start
        best = took if best is None else min(best, took)
    found[path] = [best, len(text)]
print(json.dumps(found))
"""


def sentence(random_source):
    return " ".join(random_source.choice(WORDS) for _ in range(12)).capitalize() + "."


def make_pdf(path, pages):
    """Pages of forty lines of Helvetica."""
    source = random.Random(1)
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", None, b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for _ in range(pages):
        lines = "".join(f"({sentence(source)}) Tj 0 -14 Td\n" for _ in range(40))
        stream = f"BT /F 10 Tf 50 780 Td\n{lines}ET".encode()
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        kids.append(len(objects) + 1)
        objects.append(b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>>>"
                       % len(objects))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, b" ".join(b"%d 0 R" % kid for kid in kids))
    body, places = bytearray(b"%PDF-1.4\n"), []
    for number, contents in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, contents)
    start = len(body)
    body += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    body += b"".join(b"%010d 00000 n \n" % place for place in places)
    body += b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    path.write_bytes(body)


def make_package(path, main, kind, parts):
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml",
                         '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
                         '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
                         '<Default Extension="xml" ContentType="application/xml"/>'
                         f'<Override PartName="/{main}" ContentType="application/vnd.openxmlformats-officedocument.{kind}'
                         '.main+xml"/>' + "".join(
                             f'<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.'
                             f'spreadsheetml.{part}+xml"/>' for name, part in
                             (("xl/worksheets/sheet1.xml", "worksheet"), ("xl/sharedStrings.xml", "sharedStrings"))
                             if name in parts) + "</Types>")
        package.writestr("_rels/.rels", '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
                                        f'<Relationship Id="r1" Type="{relations}/officeDocument" Target="{main}"/>'
                                        "</Relationships>")
        for name, text in parts.items():
            package.writestr(name, text)


def make_docx(path, paragraphs):
    source = random.Random(2)
    body = "".join(f"<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>{source.choice(WORDS)}</w:t></w:r><w:r><w:t xml:space=\"preserve\"> "
                   f"{sentence(source)}</w:t></w:r></w:p>" for _ in range(paragraphs))
    make_package(path, "word/document.xml", "wordprocessingml.document", {
        "word/document.xml": '<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="http://schemas.openxmlformats.org/'
                             f'wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>'})


def make_xlsx(path, rows):
    source = random.Random(3)
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    strings = "".join(f"<si><t>{sentence(source)}</t></si>" for _ in range(1000))
    lines = []
    for row in range(1, rows + 1):
        cells = f'<c r="A{row}" t="s"><v>{source.randrange(1000)}</v></c>' + "".join(
            f'<c r="{letter}{row}"><v>{source.random() * 1000:.3f}</v></c>' for letter in "BCDEFGH")
        lines.append(f'<row r="{row}">{cells}</row>')
    make_package(path, "xl/workbook.xml", "spreadsheetml.sheet", {
        "xl/workbook.xml": f'<workbook {space} xmlns:r="{relations}"><sheets><sheet name="Data" sheetId="1" r:id="r1"/></sheets>'
                           "</workbook>",
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
                                      f'<Relationship Id="r1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/>'
                                      f'<Relationship Id="r2" Type="{relations}/sharedStrings" Target="sharedStrings.xml"/>'
                                      "</Relationships>",
        "xl/sharedStrings.xml": f"<sst {space}>{strings}</sst>",
        "xl/worksheets/sheet1.xml": f"<worksheet {space}><sheetData>{''.join(lines)}</sheetData></worksheet>"})


def best_of(command):
    best = None
    for _ in range(RUNS):
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        took = time.perf_counter() - start
        best = took if best is None else min(best, took)
    return best, len(done.stdout)


def markitdown(folder, files):
    """Installs it into a folder of its own; None where that cannot be done."""
    place = folder / "venv"
    try:
        if not (place / "bin/markitdown").exists():
            venv.create(place, with_pip=True)
            subprocess.run([place / "bin/pip", "install", "--quiet", "markitdown[docx,xlsx,pdf]"], check=True, timeout=600,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        done = subprocess.run([place / "bin/python", "-c", MARKITDOWN, "1", *map(str, files)], check=True, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as problem:
        print(f"markitdown could not be measured here ({type(problem).__name__})")
        return None


def main():
    reader = sys.argv[1]
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="fathom-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "pages.pdf", folder / "text.docx", folder / "cells.xlsx"]
    make_pdf(files[0], 100)
    make_docx(files[1], 10000)
    make_xlsx(files[2], 10000)
    peer = markitdown(folder, files)
    print(f"{'':12} {'file':>8}  {'fathom':>20}  {'pdftotext':>20}  {'markitdown':>20}")
    for path in files:
        size = path.stat().st_size / 1e6

        def show(took):
            return f"{took * 1e3:8.0f} ms {size / took:7.3g} MB/s"

        ours, length = best_of([reader, str(path), "max_bytes=100000000"])
        if length < 100000:
            raise SystemExit(f"{path.name}: only {length} bytes of text came out")
        other = best_of(["pdftotext", "-layout", path, "-"])[0] if path.suffix == ".pdf" and shutil.which("pdftotext") else None
        theirs = peer and peer.get(str(path), [None])[0]
        print(f"{path.name:12} {size:5.1f} MB  {show(ours):>20}  {show(other) if other else '-':>20}  "
              f"{show(theirs) if theirs else '-':>20}")
    if len(sys.argv) <= 2:
        shutil.rmtree(folder)


main()
