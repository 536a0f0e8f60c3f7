"""wheel.py STAGE FOLDER MACHINE VERSION: makes a Python wheel of the files installed in STAGE, for pip and uv.
MACHINE is called as by `uname -m`.

Format: https://packaging.python.org/specifications/binary-distribution-format/. Installers copy
NAME.data/scripts to bin/ of the environment, and NAME.data/data to the environment itself. The program
is static, so it runs with any C library that the tag promises."""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

NAME = "autodist"
SUMMARY = "Runs one training program on every device of many machines"
ROOT = Path(__file__).resolve().parents[1]
TIME = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]


def metadata(version):
    """See https://packaging.python.org/specifications/core-metadata/."""
    head = [("Metadata-Version", "2.4"), ("Name", NAME), ("Version", version), ("Summary", SUMMARY),
            ("License-Expression", "Apache-2.0"), ("License-File", "LICENSE"), ("License-File", "NOTICE"),
            ("Keywords", "distributed training,launcher,SSH,Slurm,Kubernetes,PyTorch,MPI"),
            ("Classifier", "Environment :: Console"), ("Classifier", "Operating System :: POSIX :: Linux"),
            ("Classifier", "Topic :: System :: Distributed Computing"),
            ("Classifier", "Topic :: Scientific/Engineering :: Artificial Intelligence"),
            ("Description-Content-Type", "text/markdown")]
    lines = "".join(f"{key}: {value}\n" for key, value in head)
    return f"{lines}\n{(ROOT / 'README.md').read_text(encoding='utf-8')}"


def files_of(stage, info, version, tag):
    """Pairs of a name in the wheel and the content of the file."""
    data = f"{NAME}-{version}.data"
    yield f"{data}/scripts/{NAME}", (stage / "bin" / NAME).read_bytes()
    for path in sorted((stage / "share").rglob("*")):
        if path.is_file():
            yield f"{data}/data/share/{path.relative_to(stage / 'share')}", path.read_bytes()
    yield f"{info}/METADATA", metadata(version).encode()
    for name in ("LICENSE", "NOTICE"):
        yield f"{info}/licenses/{name}", (ROOT / name).read_bytes()
    tags = "".join(f"Tag: py3-none-{platform_tag}\n" for platform_tag in tag.split("-")[2].split("."))
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\n{tags}".encode()


def main(stage, folder, machine, version):
    tag = f"py3-none-manylinux2014_{machine}.musllinux_1_1_{machine}"
    info = f"{NAME}-{version}.dist-info"
    record = []
    with zipfile.ZipFile(folder / f"{NAME}-{version}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(name, content):
            entry = zipfile.ZipInfo(name, TIME)
            entry.external_attr = (0o100000 | (0o755 if "/scripts/" in name else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)

        for name, content in files_of(stage, info, version, tag):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}\n")
            add(name, content)
        add(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n")


main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
