"""The pages in docs/procedures have valid specs, and their commands work."""

import re
import shlex
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs/procedures").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(autodist [^`]+)`")


def blocks(page, *languages):
    return [text for language, text in BLOCK.findall(page.read_text()) if language in languages]


def specs(page):
    """{file name: text}; the first line of a spec is a comment with its name."""
    return {re.match(r"# (\S+\.yaml)\n", text)[1]: text for text in blocks(page, "yaml")}


def commands(page):
    """Every `$ autodist ...`, without the autodist."""
    lines = "".join(blocks(page, "console", "sh")).replace("\\\n", " ").splitlines()
    found = [shlex.split(line.removeprefix("$ ")) for line in lines]
    assert all(words[0] == "autodist" for words in found), found
    return [words[1:] for words in found]


def mentions(page):
    """Every `autodist ...` in a sentence or a table."""
    text = BLOCK.sub("", page.read_text())
    return [shlex.split(words.replace("\n", " "))[1:] for words in INLINE.findall(text)]


def options(words):
    """The words up to the program, which are autodist's."""
    own = words[:words.index("--")] if "--" in words else words
    return [word for word in own if word.startswith("-")]


def cases(of_page):
    """A test for each item on a page, named after both."""
    return [pytest.param(page, thing, id=f"{page.stem}: {thing if isinstance(thing, str) else shlex.join(thing)}")
            for page in PAGES for thing in of_page(page)]


@pytest.fixture
def folder(tmp_path):
    """A folder with the specs of a page."""
    def fill(page):
        for name, text in specs(page).items():
            (tmp_path / name).write_text(text)
        return tmp_path
    return fill


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "README"], ids=lambda page: page.stem)
def test_a_page_has_a_spec_and_a_run(page):
    assert specs(page)
    assert any(words[0] == "run" for words in commands(page))


@pytest.mark.parametrize("page, name", cases(specs))
def test_specs_are_valid(autodist, folder, page, name):
    outcome = autodist("validate", folder(page) / name)
    assert outcome.code == 0
    # The reader of the page has the keys; the test has not.
    assert all(": key_file " in line for line in outcome.err.splitlines()), outcome.err


@pytest.mark.parametrize("page, words", cases(lambda page: [words for words in commands(page) if words[0] == "run"]))
def test_runs_have_a_plan(autodist, folder, page, words):
    shell = {"WANDB_API_KEY": "from-the-shell"}
    outcome = autodist("run", "--dry-run", *words[1:], cwd=folder(page), env=shell)
    assert outcome.code == 0, outcome.err
    assert " rank" in outcome.out.splitlines()[0]


@pytest.mark.parametrize("page, words", cases(lambda page: commands(page) + mentions(page)))
def test_commands_and_options_exist(autodist, page, words):
    outcome = autodist(words[0], "--help", "all")
    assert f"Usage: autodist {words[0]} " in outcome.out, outcome.err
    for option in options(words):
        assert re.search(rf"^ .*{option}[ ,=\n]", outcome.out, re.MULTILINE), option


@pytest.mark.parametrize("page, link", cases(
    lambda page: re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())))
def test_links_lead_somewhere(page, link):
    assert (page.parent / link).exists()
