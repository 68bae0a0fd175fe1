"""Files that come with a question: every kind through the whole program, models that see and hear, and files made to harm."""
import base64
import io
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest
import wave
import zipfile
import zlib

import flow

PDF = (b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
       b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"
       b"4 0 obj<</Length 56>>stream\nBT /F1 12 Tf 20 100 Td (The lighthouse dates from 1901.) Tj ET\nendstream endobj\n"
       b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n")
WORD = ('<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
        "<w:p><w:r><w:t>Its keeper was Ida Larsen.</w:t></w:r></w:p></w:body></w:document>")
TYPES = ('<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
         '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
         '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
         'wordprocessingml.document.main+xml"/></Types>')
RELATIONS = ('<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
             '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
             'Target="word/document.xml"/></Relationships>')
MARK = f"97531.{os.getpid():07d}"  # seconds that a stand-in for the worker sleeps: what tells its processes from others


def docx():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr("word/document.xml", WORD)
    return out.getvalue()


def png(width=8, height=8):
    def chunk(kind, data):
        body = kind + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    rows = b"".join(b"\0" + b"\xff\x00\x00" * width for _ in range(height))
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def call(*files):
    return {"text": "<think>I read.</think>\n<tool_call>\n" +
            json.dumps({"name": "parse_file", "arguments": {"files": list(files)}}) + "\n</tool_call>"}


ANSWER = {"text": "<think>I know.</think>\n<answer>1901</answer>"}


def processes_with(mark):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
        except OSError:
            pass
    return found


class ParseFile(flow.FlowTest):
    def put(self, name, content):
        path = pathlib.Path(self.folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def server(self, script, name="agent"):
        """A scripted model server with a folder of its own."""
        folder = pathlib.Path(self.folder, "servers", name)
        folder.mkdir(parents=True)
        holder = flow.stub_server("stub_model.py", script, str(folder))
        url, log = holder.__enter__()
        self.addCleanup(holder.__exit__, None, None, None)
        return url + "/v1", log

    def ask_about(self, *files, arguments=(), **more):
        """Asks with a model that reads `files` and then answers; gives the run and what it read."""
        url, self.agent_log = self.server({"replies": [{**call(*files), "usage": None}, {**ANSWER, "usage": None}]})
        asked = self.ask(url, "--model", "stub", "--tools", "parse_file", *arguments, **more)
        text = asked.result["messages"][3]["content"]
        for file in files:
            text = text.replace(file, os.path.basename(file)) if os.path.isabs(file) else text
        self.assertNotIn(self.folder, asked.result["messages"][0]["content"] + text)
        return asked, text

    def given(self, *names):
        return [part for name in names for part in ("--file", os.path.join(self.folder, name))]

    def stand_in(self, script):
        """A program in place of fathom-worker."""
        path = pathlib.Path(self.put("worker.sh", "#!/bin/sh\n" + script + "\n"))
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        os.chmod(self.folder, 0o755)
        return "--worker", str(path)

    def assert_gone(self):
        deadline = time.monotonic() + 20
        while processes_with(MARK) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(processes_with(MARK), [])

    # ---- kinds ----

    def test_reads_documents_of_several_kinds_in_order(self):
        self.put("papers/keeper.docx", docx())
        self.put("papers/table.csv", "ship,year\nNordstjernen,1907\n")
        with zipfile.ZipFile(self.path("papers/all.zip"), "w") as archive:
            archive.writestr("inner/note.txt", "The lamp burned paraffin.")
        names = ["papers/keeper.docx", "papers/table.csv", "papers/all.zip"]
        words = ["Ida Larsen", "Nordstjernen", "The lamp burned paraffin."]
        if shutil.which("pdftotext"):
            self.put("papers/history.pdf", PDF)
            names.append("papers/history.pdf")
            words.append("The lighthouse dates from 1901.")
        asked, text = self.ask_about(*names, arguments=("--file-root", self.folder))
        self.assertEqual([text.find(word) > 0 for word in words], [True] * len(words), text)
        places = [text.find(word) for word in words]
        self.assertEqual(places, sorted(places))
        self.assertEqual(asked.result["tool_calls"]["parse_file"], 1)
        listed = flow.completions(self.agent_log)[0]["messages"][0]["content"]
        self.assertIn("papers/keeper.docx (", listed)
        self.assertNotIn(self.folder, listed)

    def test_the_tool_is_there_only_with_files(self):
        note = self.put("note.txt", "x")
        self.assertNotIn("parse_file", self.expect(0, "tools", "--no-config", "--model", "builtin").stdout)
        self.assertIn("note.txt", self.expect(0, "tools", "--no-config", "--model", "builtin", "--file", note).stdout)
        missing = self.expect(2, "tools", "--no-config", "--model", "builtin", "--file", self.path("none.txt"))
        self.assertIn("none.txt", missing.stderr)

    def test_nothing_else_can_be_opened(self):
        self.put("outside.txt", "SECRET")
        self.put("root/inside.txt", "harmless")
        os.symlink("../outside.txt", self.path("root/link.txt"))
        os.symlink("/proc/self/environ", self.path("root/environ.txt"))
        os.mkfifo(self.path("root/pipe.txt"))
        names = ["../outside.txt", self.path("outside.txt"), "link.txt", "environ.txt", "pipe.txt", "/etc/passwd",
                 "http://127.0.0.1/x", "."]
        _, text = self.ask_about(*names, arguments=("--file-root", self.path("root")), env={"SECRET_WORD": "SECRET"})
        self.assertNotIn("SECRET", text)
        self.assertNotIn("root:", text)
        self.assertEqual(text.count("This file could not be read"), len(names))
        self.assertIn("- inside.txt (8 bytes)", text)

    @unittest.skipUnless(shutil.which("tesseract") and shutil.which("pdftoppm"), "SKIPPED: tesseract or pdftoppm is missing")
    def test_an_image_without_a_model_that_sees_is_recognized(self):
        self.put("x.pdf", PDF)
        subprocess.run(["pdftoppm", "-r", "200", "-png", "-singlefile", self.path("x.pdf"), self.path("scan")], check=True)
        asked, text = self.ask_about("scan.png", arguments=self.given("scan.png"))
        self.assertIn("1901", text)
        self.assertEqual(asked.result["tokens"]["by_role"]["vision"]["calls"], 0)
        for body in flow.completions(self.agent_log):
            self.assertNotIn("image_url", json.dumps(body))

    def test_read_shows_what_the_model_would_see(self):
        self.put("folder/note.md", "# One\n\nFirst.\n\n# Two\n\nSecond.\n")
        self.put("table#1.csv", "ship,year\nNordstjernen,1907\n")
        done = self.expect(0, "read", "folder/note.md#section=Two", "table#1.csv", "--no-config", "--json")
        text = json.loads(done.stdout)["text"]
        self.assertIn('File: note.md, section "Two"', text)
        self.assertIn("Second.", text)
        self.assertNotIn("First.", text)
        self.assertIn("Nordstjernen", text)
        self.assertEqual(self.expect(2, "read", "none.pdf", "--no-config").stdout, "")
        self.put("program", b"\x7fELF\x02\x01\x01" + bytes(100))
        self.assertIn("could not be read", self.expect(1, "read", "program", "--no-config").stdout)

    # ---- models that see and hear ----

    def test_an_image_is_shown_to_the_vision_model_alone(self):
        image = png()
        self.put("chart.png", image)
        eyes, log = self.server({"replies": [{"text": "A red square, nothing written on it.",
                                              "usage": {"prompt_tokens": 700, "completion_tokens": 9}}]}, "eyes")
        asked, text = self.ask_about("chart.png", arguments=[*self.given("chart.png"), "--vision-base-url", eyes,
                                                             "--vision-model", "eyes-1"],
                                     env={"FATHOM_VISION_API_KEY": "key-of-the-eyes"})
        self.assertIn("A red square, nothing written on it.", text)
        request = flow.completions(log)[0]
        self.assertEqual(request["model"], "eyes-1")
        words, shown = request["messages"][-1]["content"]
        self.assertIn("When was the lighthouse built?", words["text"])
        kind, data = shown["image_url"]["url"].split(",", 1)
        self.assertEqual(kind, "data:image/png;base64")
        self.assertEqual(base64.b64decode(data), image)
        self.assertEqual(flow.read_lines(log)[-1]["headers"]["authorization"], "Bearer key-of-the-eyes")
        self.assertEqual(asked.result["tokens"]["by_role"]["vision"],
                         {"calls": 1, "prompt": 700, "completion": 9, "cached": 0, "reasoning": 0})
        self.assertNotIn("key-of-the-eyes", asked.everything + json.dumps(flow.read_lines(self.agent_log)))
        self.assertNotIn("image_url", json.dumps(flow.completions(self.agent_log)))

    def test_an_image_goes_to_recognition_when_the_vision_model_fails(self):
        self.put("chart.png", png())
        eyes, _ = self.server({"replies": [{"status": 400, "body": {"error": {"message": "no images, please"}}}]}, "eyes")
        _, text = self.ask_about("chart.png", arguments=[*self.given("chart.png"), "--vision-base-url", eyes,
                                                         "--vision-model", "eyes-1"])
        self.assertNotIn("no images, please", text)
        self.assertRegex(text, "No model looked at this image|could not be read")

    def sound(self, name, seconds):
        with wave.open(self.path(name), "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(1)
            out.setframerate(8000)
            out.writeframes(bytes([128, 140, 128, 116]) * (2000 * seconds))

    @unittest.skipUnless(shutil.which("ffmpeg"), "SKIPPED: ffmpeg is missing")
    def test_sound_is_transcribed_in_pieces(self):
        self.sound("talk.wav", 1200)
        ears, log = self.server({"get": {"/v1/audio/transcriptions": {
            "text": "The lamp was lit in 1901.", "usage": {"type": "tokens", "input_tokens": 40, "output_tokens": 8}}}},
            "ears")
        asked, text = self.ask_about("talk.wav", arguments=[*self.given("talk.wav"), "--transcription-base-url", ears,
                                                            "--transcription-language", "en"],
                                     env={"FATHOM_TRANSCRIPTION_API_KEY": "key-of-the-ears"})
        for mark in ("[00:00:00]", "[00:09:36]", "[00:19:12]"):
            self.assertIn(mark + " The lamp was lit in 1901.", text)
        requests = [line for line in flow.read_lines(log) if line["method"] == "POST"]
        self.assertEqual(len(requests), 3)
        for request in requests:
            self.assertEqual(request["headers"]["authorization"], "Bearer key-of-the-ears")
            parts = request["parts"]
            self.assertEqual((parts["model"], parts["response_format"], parts["language"]), ("whisper-1", "json", "en"))
            self.assertEqual(parts["file"]["filename"], "sound.mp3")
            self.assertEqual(parts["file"]["begins"][:3], "fff")
        self.assertEqual(sorted(r["parts"]["file"]["length"] for r in requests)[1:], [144 * 16000] * 2)
        role = asked.result["tokens"]["by_role"]["transcription"]
        self.assertEqual((role["calls"], role["prompt"], role["completion"]), (3, 120, 24))

    @unittest.skipUnless(shutil.which("ffmpeg"), "SKIPPED: ffmpeg is missing")
    def test_sound_that_is_none_is_said(self):
        self.put("talk.mp3", b"ID3\x03\0\0\0\0\0\0" + b"nothing of a sound " * 100)
        ears, log = self.server({"get": {"/v1/audio/transcriptions": {"text": "x"}}}, "ears")
        _, text = self.ask_about("talk.mp3", arguments=[*self.given("talk.mp3"), "--transcription-base-url", ears])
        self.assertIn("no sound could be taken out of it", text)
        self.assertEqual([line for line in flow.read_lines(log) if line["method"] == "POST"], [])

    def test_sound_without_a_service_is_said(self):
        self.sound("talk.wav", 1)
        _, text = self.ask_about("talk.wav", arguments=self.given("talk.wav"))
        self.assertIn("nothing in this run can transcribe", text)

    # ---- files made to harm ----

    def test_an_archive_that_unpacks_without_end_is_refused(self):
        with zipfile.ZipFile(self.path("bomb.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("zeros.txt", "w", force_zip64=True) as out:
                for _ in range(300):
                    out.write(b"0" * 1000000)
        began = time.monotonic()
        _, text = self.ask_about("bomb.zip", arguments=self.given("bomb.zip"))
        self.assertLess(time.monotonic() - began, 50)
        self.assertLess(len(text), 40000)
        self.assertRegex(text, "could not be read|longer than what could be taken in")

    def test_broken_files_are_said(self):
        self.put("broken.pdf", PDF[:150])
        self.put("broken.docx", docx()[:200])
        self.put("empty.pdf", b"")
        _, text = self.ask_about("broken.pdf", "broken.docx", "empty.pdf",
                                 arguments=self.given("broken.pdf", "broken.docx", "empty.pdf"))
        self.assertRegex(text, r"File: broken\.pdf\n\nThis file could not be read: \w")
        self.assertIn("File: broken.docx", text)
        self.assertNotIn("crash", text)

    def test_a_huge_table_takes_bounded_memory(self):
        size = 256  # MB, most of them a hole; FATHOM_TEST_TABLE_MB=2048 takes a minute under AddressSanitizer
        size = int(os.environ.get("FATHOM_TEST_TABLE_MB", size))
        with open(self.path("big.csv"), "wb") as out:
            out.write(b"ship,year\n")
            row = b"".join(b"ship%d,%d\n" % (i, 1800 + i % 200) for i in range(20000))
            for _ in range(20):
                out.write(row)
            out.truncate(size * 1024 ** 2)
        program = ("import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]); "
                   "print('PEAK', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)")
        began = time.monotonic()
        done = subprocess.run([sys.executable, "-c", program, flow.FATHOM, "tools", "call", "parse_file",
                               '{"files": ["big.csv"]}', "--no-config", "--model", "builtin", "--tools", "parse_file",
                               "--file", self.path("big.csv")], capture_output=True, text=True, timeout=120,
                              env=flow.environment(self.folder), check=False)
        peak = int(done.stderr.split("PEAK")[1]) / 1024
        print(f"{size} MB: {time.monotonic() - began:.1f} s, the largest process took {peak:.0f} MB", file=sys.stderr)
        self.assertIn("big.csv", done.stdout)
        self.assertRegex(done.stdout, "ship0|could not be read")
        self.assertLess(peak, 250)  # AddressSanitizer's own share included

    def test_a_worker_that_crashes_is_said_and_the_run_goes_on(self):
        self.put("evil.pdf", PDF)
        asked, text = self.ask_about("evil.pdf", arguments=[*self.given("evil.pdf"), *self.stand_in("kill -SEGV $$")])
        self.assertIn("the file made the program that reads it crash", text)
        self.assertEqual(asked.result["prediction"], "1901")

    def test_a_reader_that_hangs_is_ended(self):
        self.put("slow.pdf", PDF)
        stand_in = self.stand_in(f"sleep {MARK} & sleep {MARK}")
        _, text = self.ask_about("slow.pdf", arguments=[*self.given("slow.pdf"), *stand_in, "--tool-timeout", "2s"])
        self.assertRegex(text, "no time left|too long|did not finish")
        self.assert_gone()

    def test_an_interrupt_leaves_no_process(self):
        self.put("slow.pdf", PDF)
        url, _ = self.server({"replies": [call("slow.pdf"), ANSWER]})
        process = self.start_fathom("ask", "q", "--json", "--no-config", "--base-url", url, "--model", "stub", "--tools",
                                    "parse_file", *self.given("slow.pdf"),
                                    *self.stand_in(f"setsid sleep {MARK} & sleep {MARK}"), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
        deadline = time.monotonic() + 20
        while not processes_with(MARK) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertTrue(processes_with(MARK))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assert_gone()


if __name__ == "__main__":
    unittest.main()
