#!/usr/bin/python3
"""Checks that includes go one way: what each module may include, and where others' headers may be."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Folder: the modules that its files may include, besides itself.
MODULES = {
    "src/base": set(),
    "src/files": {"base"},
    "src/spec": {"base"},
    "src/dialect": {"proto", "base"},
    "src/plan": {"dialect", "spec", "proto", "base"},
    "src/diagnosis": {"proto", "base"},
    "src/process": {"base"},
    "src/transport": {"process", "base"},
    "src/rpc": {"proto", "base"},
    "src/control": {"rpc", "proto", "base"},
    "src/reach": {"plan", "spec", "transport", "proto", "base"},
    "src/launch": {"reach", "transport", "rpc", "files", "proto", "base"},
    "src/chief": {"launch", "reach", "diagnosis", "plan", "transport", "rpc", "proto", "base"},
    "src/client": {"rpc", "proto", "base"},
    "src/comm": {"client", "base"},
    "src/cli": {"chief", "control", "launch", "reach", "diagnosis", "files", "plan", "dialect", "spec",
                "transport", "proto", "base"},
    "src/horovod_store": set(),
    "bench": {"client", "comm", "proto", "base"},
    "agent": {"rpc", "process", "files", "proto", "base"},
}

# Header of a third party: the only files that may include it.
ONLY_IN = {
    "yaml-cpp/": {"src/spec/yaml_tree.cc"},
    "libssh2": {"src/transport/libssh2_session.cc"},
    "gloo/": {"src/comm/gloo_communicator.cc"},
    "nccl.h": {"src/comm/nccl_communicator.cc"},
    "httplib.h": {"src/horovod_store/main.cc"},
    "nlohmann/": {"src/dialect/ranktable.cc", "src/dialect/tensorflow.cc"},
    "xxhash.h": {"src/files/digest.cc"},
    "spdlog/": {"src/base/log.cc"},
    "pmix.h": {"agent/mpi/pmix_api.h"},
    "pmix_server.h": {"agent/mpi/pmix_api.h"},
    "pmix_common.h": {"agent/mpi/pmix_api.h"},
    "hwloc": {"agent/prepare/affinity.cc"},
    "CLI/": {"src/cli/commands.h"},
    "absl/": {"include/autodist/status.h", "src/base/status.cc"},
}


def problems():
    for folder, allowed in MODULES.items():
        own = Path(folder).name
        for path in sorted([*(ROOT / folder).rglob("*.cc"), *(ROOT / folder).rglob("*.h")]):
            name = str(path.relative_to(ROOT))
            for included in re.findall(r'#include ["<]([^">]+)[">]', path.read_text()):
                for header, files in ONLY_IN.items():
                    if included.startswith(header) and name not in files:
                        yield f"{name}: <{included}> belongs into {', '.join(files)} alone"
                module = included.split("/")[0] if "/" in included else own
                if included.startswith("autodist/v1/"):
                    module = "proto"
                known = {Path(other).name for other in MODULES} | {"proto"}
                if module in known - {own} - allowed:
                    yield f"{name}: {folder} must not include {included}"


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found) or "includes go one way")
    sys.exit(1 if found else 0)
