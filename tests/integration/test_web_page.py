"""The page of `autodist web` in a real Chromium."""

import re
import time

import pytest
from browser import NARROW, Keys, Page
from web import JOB, Snapshot, Web, leave_ended, own_session

# colours of cells fade; bars grow all the time
NOTHING_FADES = "document.getAnimations().every(a => a.transitionProperty === 'width')"


@pytest.fixture(autouse=True)
def session(tmp_path, monkeypatch):
    own_session(tmp_path, monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    # The driver's sockets and profiles go there.
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture
def snapshot(tmp_path):
    leave_ended(tmp_path / "old")
    job = Snapshot(tmp_path / "job")
    yield job
    job.end()


@pytest.fixture
def look():
    """Serves the jobs and opens a browser on them."""
    webs, pages = [], []

    def start(*arguments, web=None):
        if not web:
            web = Web(*arguments)
            webs.append(web)
        pages.append(Page(web.url))
        pages[-1].web = web
        pages[-1].until("document.querySelectorAll('.c').length > 0")
        return pages[-1]
    yield start
    for page in pages:
        page.driver.quit()
    for web in webs:
        web.end()


def test_a_job_from_its_head_to_its_log(snapshot, look):
    page = look()
    assert "token" not in page.driver.current_url
    assert len(page.all(".c")) == 8 and len(page.all("#cells tbody tr")) == 4
    assert page.text("#state") == "● running" and "/ 20,000" in page.text("#facts")
    assert [e for e in page.all(".why")] == []
    page.until("document.querySelectorAll('#charts figure .ln').length >= 6")
    assert re.fullmatch("5[56] % · train.py · autodist", page.driver.title)
    # The values and the curves change.
    step, use = page.text("#facts dd"), page.texts(".c b")
    page.until(f"document.querySelector('#facts dd').textContent !== {step!r}", 3)
    page.until(f"JSON.stringify([...document.querySelectorAll('.c b')].map(e => e.textContent)) !== JSON.stringify({use!r})", 5)
    # A rank that ends is red within a second.
    snapshot.log(3, "Traceback (most recent call last):\n  File \"train.py\", line 24\nKeyError: 'label'\n", "err")
    snapshot.do("fail 3")
    took = page.until("document.querySelector('.c[data-rank=\"3\"]').className.includes('mbad')", 5)
    print(f"red after {took:.2f} s")
    assert page.text('.c[data-rank="3"] b') == "exit 1" and "KeyError" in page.text(".why.bad strong")
    assert page.driver.title.startswith("✕ ")
    assert page.text("#slow tbody tr td") == "3"
    # Opens and follows the log with the rank's errors.
    page.click(".why.bad .link")
    page.until("document.querySelector('#lspace').textContent.includes(\"KeyError: 'label'\")")
    assert page.js("return document.querySelector('#stream [aria-pressed=true]').textContent") == "err"
    snapshot.log(3, "one more line\n", "err")
    page.until("document.querySelector('#lspace').textContent.includes('one more line')", 3)
    # The end of the job.
    snapshot.do("end 1")
    page.until("document.querySelector('#state').textContent === '✕ failed, exit code 1'")
    page.until("document.querySelector('#beat').textContent === 'ended'")
    assert page.text("#slowh") == "How the ranks ended"
    assert page.complaints() == []


def test_search_in_a_hundred_megabytes(snapshot, look):
    with open(snapshot.folder / "rank-6.out", "a") as file:
        file.write("the needle, 100 MB up\n")
        file.write("a line like all the others of this log\n" * 2_600_000)
        file.write("the last line\n")
    page = look()
    page.click('.c[data-rank="6"]')
    page.until("document.querySelector('#lspace').textContent.includes('the last line')")
    assert len(page.all("#lspace .row")) < 100, "only lines in view are in the page"
    page.press("/")
    begin = time.monotonic()
    page.one("#lfind").send_keys("the needle" + Keys.ENTER)
    page.until("document.querySelector('#lspace mark')?.textContent === 'the needle'", 5)
    took = time.monotonic() - begin
    assert "1 hit" in page.text("#lcount") and "MB in" in page.text("#lcount")
    found = float(page.text("#lcount").split(" in ")[1].split(" s")[0])
    assert found < 5, f"{found} s, {took} s with the browser's"
    page.click(".row.hit")
    page.until("document.querySelector('.row.at mark')?.textContent === 'the needle'")
    assert page.text("#follow") == "↓ Follow" and "byte" in page.text("#lbar .pos")
    # Scrolls on from the hit, and back to the end.
    page.js("document.querySelector('#lines').scrollTop = 1e9")
    page.until("Number(document.querySelector('#lspace').style.height.replace('px', '')) > 60000")
    assert len(page.all("#lspace .row")) < 100
    page.click("#follow")
    page.until("document.querySelector('#lspace').textContent.includes('the last line')")


def test_the_log_of_an_earlier_attempt(snapshot, look):
    page = look()
    page.click('.c[data-rank="2"]')
    snapshot.do("log 2 before the restart")
    page.until("document.querySelector('#lspace').textContent.includes('before the restart')")
    attempts = "return [...document.querySelectorAll('#lattempt option')].map(e => e.textContent)"
    assert page.js(attempts) == ["attempt 2", "attempt 1"]
    snapshot.do("restart")
    # A viewer that follows continues with the next attempt.
    page.until("document.querySelector('#lspace').textContent.includes('started once more')")
    assert page.js(attempts) == ["attempt 3", "attempt 2", "attempt 1"]
    page.click("#lattempt option:last-child")
    page.until("document.querySelector('#lspace').textContent.includes('before the restart')")
    assert not page.one("#follow").is_displayed()
    page.press("/")
    page.one("#lfind").send_keys("step 8599" + Keys.ENTER)
    page.until("document.querySelector('#lcount').textContent.includes('1 hit')")
    page.click("#lattempt option")
    page.until("document.querySelector('#lspace').textContent.includes('started once more')")
    snapshot.do("log 2 and goes on")
    page.until("document.querySelector('#lspace').textContent.includes('and goes on')")
    assert page.complaints() == []


def test_output_of_ranks_is_shown_as_text(snapshot, look):
    hostile = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>\x1b]0;owned\x07 \u202egpj.exe"
    page = look()
    snapshot.do("log 2 " + hostile)
    page.until("document.querySelector('#lspace').textContent.includes('<img src=x')")
    page.click('.c[data-rank="2"]')
    page.until("document.querySelector('#lspace').textContent.includes('<script>')")
    shown = page.text("#lspace .row:last-child")
    assert "␛]0;owned␇" in shown and "\\u202egpj.exe" in shown
    assert page.all("#lspace img, #lspace script") == [] and "owned" not in page.driver.title
    assert page.complaints() == []


def test_the_page_is_empty_without_the_token(snapshot, look):
    page = look()
    page.driver.delete_all_cookies()
    page.driver.get(f"http://{page.web.place}/")
    assert "The token is missing" in page.text("body") and page.all("#jobs") == []
    page.driver.get(f"http://{page.web.place}/?token=wrong")
    assert "Wrong token" in page.text("body")


def test_stopping_has_to_be_allowed(snapshot, look):
    page = look()
    assert not page.one("#actions").is_displayed() and "read only" in page.text("#who")
    refused = page.driver.execute_async_script(
        f"fetch('/api/stop?job={JOB}', {{method: 'POST', headers: {{'X-Autodist': '1'}}}}).then(a => arguments[0](a.status))")
    assert refused == 403
    page = look("--allow-actions")
    page.until("!document.querySelector('#actions').hidden")
    page.click("#dostacks")
    page.until("document.querySelector('#stacks').textContent.includes('cudaStreamSynchronize')")
    page.press(Keys.ESCAPE)
    page.click("#dostop")
    assert "its ranks get its stop signal, and SIGKILL when" in page.text("#askwhat")
    page.click("#askno")
    page.click("#dostop")
    page.click("#askyes")
    assert snapshot.process.stdout.readline() == "signal 15\n"


def test_a_stopped_job_has_not_succeeded(snapshot, look):
    page = look()
    snapshot.do("end 143")
    page.until("document.querySelector('#state').textContent === '– stopped, exit code 143'")


def test_every_viewer_may_ask_why(snapshot, look):
    page = look()
    page.click("#dowhy")
    page.until("document.querySelector('#diagnosis').textContent.includes('rank 2 (node1) sleeps in load')")
    assert "py-spy" in page.text("#diagnosis")
    page.press(Keys.ESCAPE)
    page.press("w")
    page.until("document.querySelector('#diagnosis').open")


def test_two_viewers_see_the_same(snapshot, look):
    first = look()
    second = look(web=first.web)
    second.until("document.querySelector('#who').textContent.startsWith('2 viewers')")
    snapshot.do("away 1")
    for page in (first, second):
        page.until("document.querySelector('.c[data-rank=\"2\"]').className.includes('stale')", 5)
        assert "3 of 4 nodes" in page.text("#beat")
    snapshot.do("back 1")
    for page in (first, second):
        page.until("!document.querySelector('.c[data-rank=\"2\"]').className.includes('stale')", 5)


def test_other_jobs_and_their_curves(snapshot, look):
    page = look()
    page.until("document.querySelector('#cmp').options.length === 2")
    page.js("const c = document.querySelector('#cmp'); c.selectedIndex = 1; c.dispatchEvent(new Event('change'))")
    page.until("document.querySelectorAll('#charts .cmp').length >= 2")
    page.click('#jobs a[href$="c02b7e"]')
    page.until("document.querySelector('#state').textContent === '✓ ended well'")
    page.until("document.querySelectorAll('#charts figure .ln').length >= 6")
    page.js("history.back()")
    page.until("document.querySelector('#state').textContent === '● running'")


def test_a_job_without_gpus_shows_its_ranks(tmp_path, look):
    job = Snapshot(tmp_path / "job", "--no-gpus")
    page = look()
    assert page.text("#gridh") == "Ranks" and len(page.all(".c")) == 8
    page.until("document.querySelectorAll('#charts figure .ln').length >= 4")
    assert "CPU" in page.text("#charts") and "GPU" not in page.text("#charts")
    assert page.text("#metric [aria-pressed=true]") == "cpu"
    job.end()


def shown_figures(page):
    """The text of the page, without the commands and the logs."""
    return " ".join(page.text(part) for part in ("#facts", "#grid", "#slow", "#charts", "#one"))


def test_zero_is_a_value(tmp_path, look):
    job = Snapshot(tmp_path / "job", "--figures", "zero")
    page = look()
    page.until("document.querySelectorAll('#charts figure .ln').length >= 6")
    facts = dict(zip(page.texts("#facts dt"), page.texts("#facts dd span")))
    assert facts["Step"] == "0" and facts["Rate"] == "0.000" and facts["Loss"] == "0.000", facts
    assert set(page.texts(".c b")) == {"0"}
    page.until("document.querySelector('#charts figure b').textContent === '0.000'")  # the curve of the loss
    assert not re.search("undefined|NaN|null|not finite", shown_figures(page)) and page.complaints() == []
    job.end()


def test_what_is_unknown_is_left_out(tmp_path, look):
    job = Snapshot(tmp_path / "job", "--figures", "unknown")
    page = look()
    page.until("document.querySelectorAll('#facts dt').length > 0")
    facts = dict(zip(page.texts("#facts dt"), page.texts("#facts dd span")))
    assert facts["Loss"] == "not finite" and not {"Step", "Rate", "ETA", "Goodput"} & set(facts), facts
    assert not re.search(r"undefined|NaN|null|\b0 (%|GB|W|kB)", shown_figures(page)) and page.complaints() == []
    job.end()


def test_keys(snapshot, look):
    page = look()
    page.press("j")
    page.until("document.querySelector('#slow tr[aria-selected=true]')")
    page.press(Keys.ENTER)
    page.until("document.querySelector('#lrank').value !== ''")
    page.press("?")
    assert page.one("#keys").is_displayed()
    page.press(Keys.ESCAPE)
    page.press("d")
    assert page.js("return document.documentElement.dataset.theme") == "dark"
    page.press("g", "g", Keys.ARROW_RIGHT)
    assert page.js("return document.activeElement.dataset.rank")
    page.press(Keys.ESCAPE)
    page.until("document.querySelector('#lrank').value === ''")


def test_light_dark_and_narrow(snapshot, look):
    snapshot.do("slow 5")
    page = look()
    page.until("document.querySelectorAll('#charts figure .ln').length >= 6 && document.querySelector('.why.slow')")
    page.until("document.querySelector('#one').textContent.includes('throttled')")
    colours = []
    for theme in ("light", "dark"):
        page.js(f"document.documentElement.dataset.theme = {theme!r}")
        colours.append(page.js("return getComputedStyle(document.documentElement).backgroundColor"))
        page.until(NOTHING_FADES)
        page.shot(f"web-{theme}.png")
    assert colours == ["rgb(246, 246, 243)", "rgb(15, 17, 20)"]
    page.js("document.documentElement.dataset.theme = 'light'")
    page.resize(*NARROW, mobile=True)
    page.until("getComputedStyle(document.querySelector('#jobs')).display === 'none'")
    assert page.js("return document.documentElement.scrollWidth") <= NARROW[0], "nothing is wider than the screen"
    page.until(NOTHING_FADES)
    page.shot("web-narrow.png")
    page.click("#menu")
    assert page.one("#jobs").is_displayed()
    assert page.complaints() == []


def test_a_thousand_ranks(tmp_path, look):
    job = Snapshot(tmp_path / "job", "--nodes", "500")
    page = look()
    assert len(page.all(".c")) == 1000
    job.do("fail 901")
    took = page.until("document.querySelector('.c[data-rank=\"901\"]').className.includes('mbad')", 10)
    print(f"red after {took:.2f} s")
    assert page.text("#cells tbody tr th b") == "node451", "those in issue come first"
    assert len(page.all("#lspace .row")) < 100
    job.end()
