// The NVIDIA GPUs of the node, according to nvidia-smi and the driver.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.pb.h"
#include "process/environment.h"

namespace autodist::agent {

inline constexpr char kDriverFolder[] = "/proc/driver/nvidia";

// Returns "535.104.05", or "" without a driver or version.
std::string DriverVersion(const std::string& driver_folder = kDriverFolder);

// Returns the path of nvidia-smi: in the PATH of `environment`, or where src/scripts/devices.sh
// finds it: in the agent's own PATH, which is that of the login shell, or in usual folders. Those
// are below `root`.
Result<std::string> FindNvidiaSmi(const process::Environment& environment,
                                  const std::string& working_directory,
                                  const std::string& root = "");

// Selects the names of GPUs to collect.
enum class GpuNames { kNumbers, kWithMig };  // kWithMig: also the UUIDs of MIG devices

// Whether the node may have a GPU or NPU of any maker: a driver, a device file, or nvidia-smi.
bool MayHaveAccelerator(const process::Environment& environment,
                        const std::string& working_directory, const std::string& root = "");

// Returns what `nvidia-smi -q -x` prints; kNotFound: there is no nvidia-smi. Blocks like GpuFacts.
Result<std::string> DescribeGpus(const process::Environment& environment,
                                 const std::string& working_directory, Supervisor& supervisor,
                                 const std::string& root = "");

// Returns only gpus, gpu_error, gpu_failure and gpu_warning, for the users of GPUs. Runs nvidia-smi
// like GpuFacts.
v1::NodeInfo GpuUsers(const process::Environment& environment, const std::string& working_directory,
                      Supervisor& supervisor, GpuNames names = GpuNames::kNumbers);

// Returns the job in the environment of a process, by its folder of /proc; "": none, or unreadable.
std::string JobOfProcess(const std::string& proc_folder);

// Returns also driver_version and cuda_version. Runs nvidia-smi, several times in parallel, if it
// exists; without it and without a driver, the node has no GPUs. Blocks for kProbeLimit at most,
// plus the time that a killed nvidia-smi needs to end.
v1::NodeInfo GpuFacts(const process::Environment& environment, const std::string& working_directory,
                      Supervisor& supervisor, GpuNames names = GpuNames::kNumbers,
                      const std::string& root = "");

// Returns the PCI bus ID of each GPU, "00000000:3B:00.0", by CUDA's number. Empty if unknown:
// without nvidia-smi, or if there are several kinds of GPUs, for which CUDA's order differs unless
// CUDA_DEVICE_ORDER is PCI_BUS_ID. Blocks like GpuFacts.
Result<std::map<uint32_t, std::string>> GpuBusIds(const process::Environment& environment,
                                                  const std::string& working_directory,
                                                  Supervisor& supervisor);

}  // namespace autodist::agent
