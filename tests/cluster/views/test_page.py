"""The page of a job that runs on four hosts, in a real browser."""

import os
import re
import signal
import tempfile
from pathlib import Path

import pytest
from browser import Page
from hosts import SPEC
from web import Web

RANKS = 8
RED_LIMIT_S = 5  # well under one second on an idle machine
TRAIN = """
import os, sys, time
from tqdm import tqdm
print("up", os.getpid(), flush=True)
said = set()
bar = tqdm(range(100_000), mininterval=0.5, maxinterval=0.5)
for step in bar:
    time.sleep(0.02)
    bar.set_postfix(loss=f"{1 / (step + 1):.4f}", refresh=False)
    if "more" not in said and os.path.exists(sys.argv[1] + "/more"):
        said.add("more")
        print("one more line", flush=True)
    if os.path.exists(sys.argv[1] + "/end"):
        break
"""


@pytest.fixture
def look(monkeypatch):
    """Opens a browser on the page at an address."""
    pages = []

    def start(url):
        pages.append(Page(url))
        return pages[-1]
    with tempfile.TemporaryDirectory() as files:  # a short name, for the browser's sockets
        monkeypatch.setenv("HOME", files)
        monkeypatch.setenv("TMPDIR", files)
        yield start
        for page in pages:
            page.driver.quit()


@pytest.fixture
def training(folder, up):
    def run(*options):
        (folder / "train.py").write_text(TRAIN)
        return up(*options, program=["/usr/bin/python3", folder / "train.py", folder])
    return run


def test_a_rank_that_is_killed_is_red_at_once_and_its_log_can_be_read(training, look, folder):
    job, pids = training()
    web = Web(cwd=folder)
    page, other = look(web.url), look(web.url)
    for one in (page, other):
        one.until(f"document.querySelectorAll('.c[data-rank]').length === {RANKS}")
        one.until("document.querySelectorAll('#charts figure .ln').length >= 3")
    assert len(page.all("#cells tbody tr")) == 4 and page.text("#state") == "● running"
    step = page.text("#facts dd")
    page.until(f"document.querySelector('#facts dd').textContent !== {step!r}", 5)
    page.until("document.querySelector('#facts').textContent.includes('100,000')", 5)
    page.click('.c[data-rank="5"]')
    page.until("document.querySelector('#lspace').textContent.includes('up ')")
    os.kill(pids[5], signal.SIGKILL)
    took = page.until("document.querySelector('.c[data-rank=\"5\"]').className.includes('mbad')", RED_LIMIT_S)
    print(f"red {took:.2f} s after the kill")
    other.until("document.querySelector('.c[data-rank=\"5\"]').className.includes('mbad')", RED_LIMIT_S)
    assert job.finish().code == 128 + signal.SIGKILL
    page.until("document.querySelector('#state').textContent.startsWith('✕ failed')")
    assert f"up {pids[5]}" in page.text("#lspace")
    assert page.complaints() == other.complaints() == []
    web.end()


@pytest.mark.parametrize("control", [False, True])
def test_the_page_of_run(training, look, folder, control):
    options = ["--web-allow-actions"] if control else []
    job, _ = training("--web", "127.0.0.1:0", *options)
    url = Path(re.search(r"page: its address is in (\S+)", job.err.decode())[1]).read_text().strip()
    page = look(url)
    page.until(f"document.querySelectorAll('.c[data-rank]').length === {RANKS}")
    assert page.js("return document.querySelector('#actions').hidden") is not control
    status = page.driver.execute_async_script(
        "fetch('/api/stop?job=' + location.hash.slice(1), {method: 'POST', headers: {'X-Autodist': '1'}})"
        ".then(a => arguments[0](a.status))") if not control else 403
    assert status == 403
    page.driver.delete_all_cookies()
    page.driver.get(url.partition("?")[0])
    assert "The token is missing" in page.text("body")
    if control:
        page.driver.get(url)
        page.until("!document.querySelector('#actions').hidden")
        page.click("#dostop")
        page.click("#askyes")
        assert job.finish().code == 128 + signal.SIGTERM
        return
    page.driver.get(url)
    page.click('.c[data-rank="2"]')
    (folder / "more").touch()
    page.until("document.querySelector('#lspace').textContent.includes('one more line')", 5)
    (folder / "end").touch()
    assert job.finish().code == 0
