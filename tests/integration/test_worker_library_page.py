"""The trainer of docs/how-to/write_a_cpp_trainer.md, compiled as the page says against the installed
files."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from jobs import BUILD

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs/how-to/write_a_cpp_trainer.md").read_text()
[WITH_CMAKE] = re.findall(r"^    (cmake -B build .*)$", PAGE, re.MULTILINE)
[WITH_PKG_CONFIG] = re.findall(r"^    (.* \$\(pkg-config .*\))$", PAGE, re.MULTILINE)
LIMIT_S = 100


@pytest.fixture(name="prefix", scope="module")
def installed_prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD.parent, "--component", "worker-library", "--prefix", prefix],
                   check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL)
    return prefix


@pytest.fixture(name="fit")
def page_folder(tmp_path):
    """A folder with the files that the page shows."""
    for name, text in re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("command", [WITH_CMAKE, WITH_PKG_CONFIG], ids=["find_package", "pkg_config"])
def test_the_trainer_compiles_and_runs(autodist, prefix, fit, command):
    subprocess.run(["sh", "-euc", command], cwd=fit, check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL,
                   env={**os.environ, "CMAKE_PREFIX_PATH": str(prefix),
                        "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")})
    run, said = re.search(r"^    autodist (run -n .*?)\n\nprints `(.*?)`", PAGE, re.MULTILINE | re.DOTALL).groups()
    outcome = autodist(*run.split(), cwd=fit)
    assert outcome.code == 0, outcome.err
    assert outcome.out == said + "\n"


def test_the_library_exports_exactly_what_its_headers_declare(prefix):
    headers = "".join(header.read_text() for header in (prefix / "include/autodist").iterdir())
    declared = set(re.findall(r"^[\w:<>&]+ (operator<<|\w+)\(", headers, re.MULTILINE))
    listed = subprocess.run(["nm", "-AC", "--defined-only", "--extern-only", prefix / "lib/libautodist.a"],
                            check=True, timeout=LIMIT_S, capture_output=True, text=True).stdout
    names = re.findall(r":autodist\.o:\w+ \w (.*)", listed)
    assert all(name.startswith("autodist::") for name in names)
    of_nccl = {name for name in declared if "Nccl" in name}  # in its own object, if there is NCCL
    assert declared - of_nccl <= set(re.findall(r"autodist::(operator<<|\w+)[\[(]", "\n".join(names)))
    assert of_nccl and all(f"autodist::{name}(" in listed for name in of_nccl)
