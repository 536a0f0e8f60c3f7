#!/usr/bin/python3
"""Writes licences and SBOM of the libraries linked into the programs, from setup/third_party.tsv and the
copyright files of the installed packages.

  setup/licenses.py text OUTPUT                 the licence texts that `autodist licenses` prints
  setup/licenses.py sbom VERSION OUTPUT         an SPDX 2.3 document
  setup/licenses.py unlisted FILE...            prints files of packages that the table does not list
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "setup/third_party.tsv"
DOCS = Path("/usr/share/doc")
BUILT = ROOT / "build/deps/share/doc"  # by setup/sources.sh
COMMON = re.compile(r"/usr/share/common-licenses/[A-Za-z]+(?:-[0-9.]*[0-9])?")
# Declares system calls, and contributes no code to a program.
KERNEL_HEADERS = "linux"


def components():
    """(name, package, SPDX expression, where) of each line of the table."""
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            name, package, licence, where = line.split("\t")
            yield name, package, licence, where


def copyright_file(name, package):
    built = BUILT / name / "copyright"
    return built if built.exists() else DOCS / package / "copyright"


def query(package, field):
    asked = subprocess.run(["dpkg-query", "-W", "-f", f"${{{field}}}\n", package],
                           stdout=subprocess.PIPE, text=True, check=True)
    return asked.stdout.splitlines()[0]


def version_of(name, package):
    built = BUILT / name / "version"
    return built.read_text().strip() if built.exists() else query(package, "source:Version")


def text():
    parts = [(ROOT / "NOTICE").read_text(), (ROOT / "LICENSE").read_text()]
    line = "=" * 80
    for name, package, licence, where in components():
        licence_text = copyright_file(name, package).read_text(encoding="utf-8")
        parts.append(f"{line}\n{name} ({licence}), in: {where}\n{line}\n\n{licence_text}")
    # Debian's copyright files refer to them.
    for file in sorted({Path(name).resolve() for name in COMMON.findall("".join(parts))}):
        if file.exists():
            parts.append(f"{line}\n{file}\n{line}\n\n{file.read_text()}")
    return "\n".join(parts)


def sbom(version):
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    packages = [{"SPDXID": "SPDXRef-autodist", "name": "autodist", "versionInfo": version,
                 "downloadLocation": "NOASSERTION", "licenseConcluded": "Apache-2.0",
                 "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION", "filesAnalyzed": False}]
    links = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
              "relatedSpdxElement": "SPDXRef-autodist"}]
    for name, package, licence, where in components():
        identity = "SPDXRef-" + "".join(char if char.isalnum() else "-" for char in name)
        packages.append({"SPDXID": identity, "name": name, "versionInfo": version_of(name, package),
                         "downloadLocation": "NOASSERTION", "licenseConcluded": licence,
                         "licenseDeclared": licence, "copyrightText": "NOASSERTION",
                         "filesAnalyzed": False, "comment": f"in: {where}"})
        links.append({"spdxElementId": "SPDXRef-autodist", "relationshipType": "CONTAINS",
                      "relatedSpdxElement": identity})
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"autodist-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/autodist-{version}-{epoch}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
                             "creators": ["Tool: setup/licenses.py"]},
            "packages": packages, "relationships": links}


def sources_listed():
    for name, package, _, _ in components():
        if not (BUILT / name).exists():
            yield query(package, "source:Package")


def unlisted(files):
    """Pairs of a file and the source package that has it, for all files without a component."""
    listed = {*sources_listed(), KERNEL_HEADERS}
    real = {os.path.realpath(file) for file in files}
    known = {file for file in real if file.startswith(f"{ROOT}/")}
    # Packages of before the merge of /lib into /usr/lib own paths without /usr.
    merged = {file.removeprefix("/usr"): file for file in real - known}
    found = subprocess.run(["dpkg-query", "-S", *merged.values(), *merged], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False)
    source = {}
    for line in found.stdout.splitlines():
        package, _, path = line.partition(": ")
        file = merged.get(path, path)
        if file in real:
            package = package.split(",")[0]
            if package not in source:
                source[package] = query(package, "source:Package")
            known.add(file)
            if source[package] not in listed:
                yield file, source[package]
    yield from ((file, "no package") for file in sorted(real - known))


def main(what, *rest):
    if what == "text":
        Path(rest[0]).write_text(text(), encoding="utf-8")
    elif what == "sbom":
        Path(rest[1]).write_text(json.dumps(sbom(rest[0]), indent=1) + "\n")
    elif what == "unlisted":
        found = list(unlisted(rest))
        print("\n".join(f"{file}: {source}" for file, source in found))
        sys.exit(1 if found else 0)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
