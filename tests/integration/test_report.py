"""`autodist report` of local jobs that run, have failed, or do not exist."""

import html.parser
import re

import pytest
from jobs import python, seconds_until

LIMIT_S = 20
PROGRAM = """
import os, pathlib, sys, time
folder, rank = pathlib.Path(sys.argv[1]), int(os.environ["RANK"])
print("step 1/40 <b>loss</b>", flush=True)
(folder / f"up-{rank}").touch()
while not (folder / "go").exists():
    time.sleep(0.02)
if rank == 1:
    raise KeyError("</pre><script>alert(1)</script>")
time.sleep(1000)
"""


@pytest.fixture(autouse=True)
def own_jobs(tmp_path, monkeypatch):
    """Limits 'last' to jobs of this test."""
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        path = tmp_path / name
        path.mkdir(mode=0o700)
        monkeypatch.setenv(name, str(path))


class Page(html.parser.HTMLParser):
    """What a browser would parse."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.text = set(), [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onerror", "onload", "style"}, (tag, attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page(outcome):
    assert outcome.code == 0, outcome.err
    read = Page(outcome.out)
    assert read.open == [] and "script" not in read.elements
    return read


def test_a_job_that_runs_and_then_fails(start, autodist, tmp_path):
    job = start("run", "-n", "2", "--", *python(PROGRAM), tmp_path)
    seconds_until(lambda: all((tmp_path / f"up-{rank}").exists() for rank in (0, 1)), LIMIT_S)
    assert "● running" in page(autodist("report", "last")).text
    (tmp_path / "go").touch()
    assert job.finish().code == 1
    read = page(autodist("report", "last"))
    assert "✕ failed, exit code 1" in read.text
    assert "KeyError: '</pre><script>alert(1)</script>'" in read.text
    assert "Where the time went" in read.text and "rank-1.err" in read.text
    text = autodist("report", "last", "--markdown").out
    assert re.search(r"^\| ✕ rank 1 \| localhost \| exited with code 1 \|", text, re.MULTILINE), text
    assert "\\<script" in text


def test_a_refused_start_leaves_no_record(autodist):
    assert autodist("run", "-n", "2", "--", "/nonexistent/program").code == 127
    outcome = autodist("report", "last", "--markdown")
    assert outcome.code == 2 and "there is no job" in outcome.err


def test_an_existing_file_is_replaced_only_on_request(autodist, tmp_path):
    assert autodist("run", "-n", "1", "--", "true").code == 0
    file = tmp_path / "report.md"
    file.write_text("mine")
    outcome = autodist("report", "last", "--markdown", "--output", file)
    assert outcome.code == 2 and "--force" in outcome.err
    assert file.read_text() == "mine"
    assert autodist("report", "last", "--markdown", "--output", file, "--force").code == 0
    assert "**ended well**" in file.read_text()
    outcome = autodist("report", "last", "--output", tmp_path / "no" / "folder.html")
    assert outcome.code == 125 and "folder.html" in outcome.err


def test_the_suffix_chooses_the_format(autodist, tmp_path):
    assert autodist("run", "-n", "1", "--", "true").code == 0
    for name, begin in (("report.md", "# "), ("report.html", "<!"), ("report", "<!")):
        assert autodist("report", "-o", tmp_path / name).code == 0
        assert (tmp_path / name).read_text().lstrip().startswith(begin), name
    refused = autodist("report", "--output", tmp_path / "report.pdf")
    assert refused.code == 2 and "HTML (.html) or Markdown (.md)" in refused.err and not (tmp_path / "report.pdf").exists()
    assert autodist("report", "--markdown", "--output", tmp_path / "report.txt").code == 0


def test_no_such_job(autodist):
    outcome = autodist("report", "nope")
    assert outcome.code == 2 and "there is no job" in outcome.err and outcome.out == ""
