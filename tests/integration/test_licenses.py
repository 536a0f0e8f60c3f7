"""`autodist licenses` and the SBOM name all that is linked into the programs or compiled into them."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from jobs import BUILD

ROOT = Path(__file__).parents[2]
BUILD_FOLDER = BUILD.parent
SCRIPT = ROOT / "setup/licenses.py"
# Installed separately, and linked at run time.
SEPARATE = re.compile(r"/usr/local/cuda[^/]*/|.*/nccl\.h|/usr/include/(gtest|gmock)/")


def read_by_the_linker(name):
    """Paths of all files that the linker has read, from its dependency file."""
    text = (BUILD_FOLDER / name).read_text()
    return [word for word in text.replace("\\\n", " ").split() if word.startswith("/") and not word.endswith(":")]


def read_by_the_compiler():
    listed = subprocess.run(["ninja", "-C", BUILD_FOLDER, "-t", "deps"], capture_output=True, text=True, check=True)
    return sorted({line.strip() for line in listed.stdout.splitlines() if line.startswith("    /")})


def shipped_with_bench():
    """Paths in the system of the libraries that `autodist bench` brings with it."""
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    path_of = {Path(path).name: path for path in re.findall(r"x86-64.*=> (/\S+)", known)}
    return [path_of[file.name] for file in (BUILD / "bench").iterdir() if ".so" in file.name]


@pytest.mark.parametrize("files", [
    lambda: read_by_the_linker("src/cli/linked.d"), lambda: read_by_the_linker("agent/linked.d"),
    read_by_the_compiler, shipped_with_bench], ids=["autodist", "agent", "headers", "bench"])
def test_all_components_are_listed(files):
    outside = [file for file in files() if not SEPARATE.match(file) and not file.startswith(f"{BUILD_FOLDER}/bin/")]
    assert len(outside) > 3
    found = subprocess.run([SCRIPT, "unlisted", *outside], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_component_that_is_not_listed_is_found():
    found = subprocess.run([SCRIPT, "unlisted", "/usr/bin/ssh"], capture_output=True, text=True)
    assert found.returncode == 1
    assert "openssh" in found.stdout


def test_the_program_prints_all_licences(autodist):
    said = autodist("licenses").out
    for line in (ROOT / "setup/third_party.tsv").read_text().splitlines():
        if not line.startswith("#"):
            name, _, licence, where = line.split("\t")
            assert f"{name} ({licence}), in: {where}" in said
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in said.upper()


def test_the_sbom_has_versions(tmp_path):
    subprocess.run([SCRIPT, "sbom", "1.2.3", tmp_path / "sbom.json"], check=True)
    document = json.loads((tmp_path / "sbom.json").read_text())
    assert document["spdxVersion"] == "SPDX-2.3"
    assert len(document["packages"]) > 20
    assert all(package["versionInfo"] for package in document["packages"])
    assert len({package["SPDXID"] for package in document["packages"]}) == len(document["packages"])
