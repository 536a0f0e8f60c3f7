"""`doctor --burn` on CPUs, and on a GPU whose driver is a library made here: it runs no kernel."""

import json
import os
import subprocess

import pytest
from jobs import Running

DRIVER = r"""
#include <stdlib.h>
#include <string.h>
typedef unsigned long long pointer;
int cuInit(unsigned flags) { return 0; }
int cuGetErrorString(int error, const char** text) { *text = "uncorrectable ECC error"; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char* name, int length, int device) { strcpy(name, "Paper GPU"); return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { *value = attribute == 16 ? 2 : 7; return 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = &device; return 0; }
int cuDevicePrimaryCtxRelease(int device) { return 0; }
int cuCtxSetCurrent(void* context) { return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuModuleLoadData(void** module, const void* image) { return strstr(image, ".entry") ? 0 : 1; }
int cuModuleGetFunction(void** function, void* module, const char* name) { return 0; }
int cuLaunchKernel(void* f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned shared,
                   void* stream, void** arguments, void** extra) { return LAUNCH; }
int cuMemGetInfo_v2(size_t* free, size_t* total) { *free = *total = 16 << 20; return 0; }
int cuMemAlloc_v2(pointer* memory, size_t bytes) { *memory = (pointer)calloc(1, bytes); return 0; }
int cuMemAllocHost_v2(void** memory, size_t bytes) { *memory = calloc(1, bytes); return 0; }
int cuMemcpyDtoD_v2(pointer to, pointer from, size_t bytes) { memcpy((void*)to, (void*)from, bytes); return 0; }
int cuMemcpyHtoD_v2(pointer to, const void* from, size_t bytes) { memcpy((void*)to, from, bytes); return 0; }
int cuMemcpyDtoH_v2(void* to, pointer from, size_t bytes) { memcpy(to, (void*)from, bytes); return 0; }
"""


@pytest.fixture
def doctor(tmp_path):
    (tmp_path / "cpus.yaml").write_text("nodes:\n  - address: localhost\n    cpus: [0, 1]\n")
    (tmp_path / "gpus.yaml").write_text(f"nodes:\n  - address: localhost\n    gpus: [0]\n"
                                        f"    shared_envs: {{LD_LIBRARY_PATH: {tmp_path}}}\n")
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\ncase \"$*\" in *query-gpu=index,name*) echo '0, Paper GPU, GPU-a, 4';; esac\n")
    smi.chmod(0o755)

    def run(spec, *options):
        return Running(["doctor", "--spec", spec, "--burn", "1", *options], tmp_path,
                       {"PATH": f"{tmp_path}:{os.environ['PATH']}"}).finish()
    return run


@pytest.fixture
def driver(tmp_path):
    def make(launch):
        subprocess.run(["gcc", "-shared", "-fPIC", "-w", f"-DLAUNCH={launch}", "-x", "c", "-o", "libcuda.so.1", "-"],
                       input=DRIVER.encode(), cwd=tmp_path, check=True)
    return make


def test_cpus_compute_right_results(doctor):
    outcome = doctor("cpus.yaml", "--json")
    devices = json.loads(outcome.out)["burned"]
    assert outcome.code == 0 and [device["name"] for device in devices] == ["CPU 0", "CPU 1"]
    for device in devices:
        assert device["result"]["wrong"] == 0
        assert {rate["work"]: rate["rate"] > 1e6 for rate in device["result"]["rates"]} == {
            "matrix": True, "host_memory": True}


def test_wrong_results_of_a_gpu_are_an_issue(doctor, driver):
    driver(launch=0)
    outcome = doctor("gpus.yaml")
    assert outcome.code == 1, outcome.err
    assert "1 device (Paper GPU): matrix products " in outcome.out
    assert "✗ localhost: health\n    GPU 0 computed " in outcome.out and " wrong numbers\n" in outcome.out


def test_an_error_of_the_gpu_is_shown(doctor, driver):
    driver(launch=214)
    outcome = doctor("gpus.yaml")
    assert outcome.code == 1
    assert "autodist-burn: cuLaunchKernel: uncorrectable ECC error (214)" in outcome.err


def test_gpus_need_the_driver(doctor):
    outcome = doctor("gpus.yaml")
    assert outcome.code == 1
    assert "autodist-burn: libcuda.so.1: cannot open shared object file" in outcome.err
    assert "hint: install NVIDIA's driver" in outcome.err


def test_nothing_is_loaded_on_nodes_with_issues(doctor, tmp_path):
    (tmp_path / "nvidia-smi").unlink()
    outcome = doctor("gpus.yaml")
    assert outcome.code == 1 and "no GPU there" in outcome.out and "job" not in outcome.err
