"""Finds the machine's GPUs, its libraries of CUDA and NCCL, and a Python with torch."""

import os
import re
import shutil
import sys
from pathlib import Path

from commands import Failed

ASK_LIMIT_S = 60
TORCH_LIMIT_S = 180  # with a cold disk cache
# Folders that may have nvidia-smi outside the PATH.
SMI = ["nvidia-smi", "/usr/bin/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"]
ASK_TORCH = """import torch, torch.distributed as dist
print(torch.__version__, torch.cuda.is_available() and dist.is_nccl_available(), dist.is_available())"""


class Machine:
    """Examined once, at the start."""

    def __init__(self, commands, use_gpu, torch_python):
        self._commands = commands
        commands.enter("machine")
        self.smi = next((found for found in map(shutil.which, SMI) if found), None)
        if self.smi:  # where autodist's agent looks for it
            os.environ["PATH"] += ":" + str(Path(self.smi).parent)
        self.gpus = self._gpus() if use_gpu and self.smi else []  # [(pci address, name, driver)]
        self.torch, self.torch_version = self._torch(torch_python)

    def description(self):
        if not self.gpus:
            return "no GPU"
        _, name, driver = self.gpus[0]
        return f"{len(self.gpus)} x {name}, driver {driver}"

    def _gpus(self):
        try:
            out = self._commands.run([self.smi, "--query-gpu=pci.bus_id,name,driver_version",
                                      "--format=csv,noheader"], ASK_LIMIT_S)
        except Failed:  # nvidia-smi without a driver
            return []
        rows = [tuple(cell.strip() for cell in line.split(",")) for line in out.splitlines()]
        return [row for row in rows if len(row) == 3]

    def _torch(self, given):
        """Returns (Python, version) of the first Python whose torch has the needed backend."""
        pythons = [given] if given else [sys.executable, shutil.which("python3"), "/usr/bin/python3"]
        for python in dict.fromkeys(str(python) for python in pythons if python):
            try:
                version, nccl, distributed = self._commands.run([python, "-c", ASK_TORCH],
                                                                TORCH_LIMIT_S).split()
            except (Failed, OSError, ValueError):
                continue
            if (nccl if self.gpus else distributed) == "True":
                return python, version
        return None, ""

    def library_path(self, *programs):
        """Returns an LD_LIBRARY_PATH with which the programs find NCCL and the CUDA runtime."""
        folders = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
        for name in self._needed(programs):
            folder = self._folder_of(name)
            if folder not in folders:
                folders.append(folder)
        return ":".join(folders)

    @staticmethod
    def _needed(programs):
        """Returns the names of the libraries in the programs: "libcudart.so.13"."""
        pattern = re.compile(rb"\blib(?:nccl|cudart)\.so\.\d+\b")
        names = {name.decode() for program in programs for name in pattern.findall(program.read_bytes())}
        return sorted(names, reverse=True)  # CUDA's own folder may have an NCCL, but not the other way round

    @staticmethod
    def _places():
        places = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
        for cuda in sorted(Path("/usr/local").glob("cuda*"), reverse=True):
            places += [cuda / "lib64", cuda / "lib", *cuda.glob("targets/*/lib")]
        places += [Path(folder) for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                               "/usr/lib64", "/usr/lib", "/usr/local/lib")]
        pythons = {sys.executable, shutil.which("python3") or sys.executable}
        for python in pythons:  # libraries in pip packages, next to torch
            lib = Path(python).parent.parent / "lib"
            places += lib.glob("python3*/site-packages/nvidia/*/lib")
            places += lib.glob("python3*/dist-packages/nvidia/*/lib")
        return places

    def _folder_of(self, name):
        for place in self._places():
            if (place / name).exists():
                return str(place)
        raise Failed(f"{name} not found; add its folder to LD_LIBRARY_PATH")
