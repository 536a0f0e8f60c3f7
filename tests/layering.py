#!/usr/bin/python3
"""Checks the includes against the tables of docs/explanation/modules.md: which module may use which,
and where the headers of third parties may be included. Checks that no loop over a folder throws,
and that texts with sections for some users are rendered."""

import graphlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explanation" / "modules.md"
NAME = PAGE.relative_to(ROOT)

# Headers of the compiler and the C library.
SYSTEM = re.compile(r"[a-z_]+|(arpa|linux|net|netinet|sys)/.*|"
                    r"(cxxabi|dirent|dlfcn|fcntl|fnmatch|getopt|glob|ifaddrs|limits|link|netdb|nss|"
                    r"poll|pthread|pwd|sched|signal|spawn|stdlib|string|strings|termios|unistd)\.h")


def rows(heading):
    """The rows of the first table below a heading, as lists of the words quoted in each cell."""
    lines = PAGE.read_text().split(f"## {heading}\n")[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|---"))
    for line in lines[start + 1:]:
        if not line.startswith("|"):
            return
        yield [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]


def path_of(name):
    return "src/" + name if (ROOT / "src" / name).is_dir() else name


MODULES = {module: {path_of(name) for name in uses} for modules, _, uses in rows("Modules") for module in modules}
# Beginning of the name of a header: the folders and files that may include it; none: all.
THIRD_PARTIES = {header: places for _, headers, places in rows("Third parties") for header in headers}


def longest(names, path):
    """The longest name of a folder, or beginning of a name, that matches the path."""
    return max((name for name in names if path.startswith(name)), key=len, default=None)


def within(path, place):
    return path == place or path.startswith(place + "/")


def module_of(path):
    return longest({module for module in MODULES if within(path, module)}, path)


def own_file(included, folder):
    """Path of a header of ours, or None."""
    if included.startswith("autodist/v1/"):
        return "proto/" + included
    for base in (ROOT / "src", ROOT, ROOT / "include", folder):
        if (base / included).is_file():
            return str((base / included).relative_to(ROOT))
    return None


def may_use(user, used):
    """A module that may use another may also use its submodules, except those of a module that contains both."""
    return user == used or any(used == name or (within(used, name) and not within(user, name))
                               for name in MODULES[user])


def issue_with(name, included):
    own = own_file(included, (ROOT / name).parent)
    if own:
        user, used = module_of(name), module_of(own)
        if used and user and not may_use(user, used):
            return f"{user} must not use {used}"
        return None
    header = longest(THIRD_PARTIES, included)
    if not header:
        return None if SYSTEM.fullmatch(included) else f"belongs to no third party in {NAME}"
    places = THIRD_PARTIES[header]
    if not places or any(within(name, place) for place in places):
        return None
    return f"<{header}> is for {', '.join(places)} alone"


# A loop over std::filesystem's iterator throws if reading a folder fails halfway.
THROWING = re.compile(r"(?<!recursive_)directory_iterator|: [\w:]*recursive_directory_iterator\(")

# Texts with sections (base/for_user.h), and tables of them, whose readers call ForUser.
SECTION = re.compile(r"\[(?:(?:spec|hosts|init|allocation|here),?)+\|")
TABLES = ("src/transport/reach_causes.h", "src/diagnosis/failure_hint.cc")
TOKEN = re.compile(r"""//[^\n]*|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\])'|\w+|[()]""", re.DOTALL)


def is_rendered(text):
    """Whether each literal with a section is within the parentheses of a call of ForUser."""
    calls, before = [], ""
    for token in (match[0] for match in TOKEN.finditer(text)):
        if token == "(":
            calls.append(before)
        elif token == ")" and calls:
            calls.pop()
        elif token.startswith('"') and SECTION.search(token) and "ForUser" not in calls:
            return False
        before = token
    return True


def issues():
    names = [name for module in MODULES for name in (module, *MODULES[module])]
    names += [place for places in THIRD_PARTIES.values() for place in places]
    yield from (f"{NAME}: {name} does not exist" for name in names if not (ROOT / name).exists())
    try:
        graphlib.TopologicalSorter(MODULES).prepare()
    except graphlib.CycleError as error:
        yield f"{NAME}: modules use each other: {' → '.join(error.args[1])}"
    for folder in ("agent", "bench", "include", "src"):
        for path in sorted([*(ROOT / folder).rglob("*.cc"), *(ROOT / folder).rglob("*.h")]):
            name = str(path.relative_to(ROOT))
            if folder != "include" and not module_of(name):
                yield f"{name}: in no module of {NAME}"
            text = path.read_text()
            if THROWING.search(text):
                yield f"{name}: directory_iterator throws: use base::EntriesOf, or increment(error)"
            if SECTION.search(text) and name not in TABLES and not is_rendered(text):
                yield f"{name}: a text with sections is not rendered by base::ForUser"
            for included in re.findall(r'#include ["<]([^">]+)[">]', text):
                issue = issue_with(name, included)
                if issue:
                    yield f"{name}: {included}: {issue}"


if __name__ == "__main__":
    found = list(issues())
    print("\n".join(found) or "includes go one way")
    sys.exit(1 if found else 0)
