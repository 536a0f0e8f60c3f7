// The NVIDIA GPUs of the node, as its own tools describe them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.pb.h"
#include "process/environment.h"

namespace autodist::agent {

inline constexpr char kDriverFolder[] = "/proc/driver/nvidia";

// "535.104.05"; "" if there is no driver or it does not tell.
std::string DriverVersion(const std::string& driver_folder = kDriverFolder);

// Where nvidia-smi is: in the PATH of `environment`, or in /usr/bin.
Result<std::string> FindNvidiaSmi(const process::Environment& environment,
                                  const std::string& working_directory);

// What a node's GPUs are asked for.
enum class GpuNames { kNumbers, kWithMig };  // the latter also what their parts are called

// Whether the node may have a GPU or NPU of any maker: a driver, a device file, or nvidia-smi.
bool MayHaveAccelerator(const process::Environment& environment,
                        const std::string& working_directory, const std::string& root = "/");

// The facts gpus and gpu_error alone: who uses them. nvidia-smi is run as below.
v1::NodeInfo GpuUsers(const process::Environment& environment, const std::string& working_directory,
                      Supervisor& supervisor, GpuNames names = GpuNames::kNumbers);

// The facts gpus, gpu_error, driver_version and cuda_version. nvidia-smi is run, several times at
// once, where it is found; where it is not, and there is no driver either, the node has no GPUs.
// Blocks for kProbeLimit at most, and as long as a killed nvidia-smi takes to end.
v1::NodeInfo GpuFacts(const process::Environment& environment, const std::string& working_directory,
                      Supervisor& supervisor, const std::string& driver_folder = kDriverFolder,
                      GpuNames names = GpuNames::kNumbers);

// Where each GPU is on the PCI bus, "00000000:3B:00.0", by the number that CUDA knows it by. Empty
// where that is not known: there is no nvidia-smi, or the GPUs are of several kinds, and CUDA has
// them in an order of its own unless CUDA_DEVICE_ORDER says PCI_BUS_ID. Blocks as GpuFacts does.
Result<std::map<uint32_t, std::string>> GpuBusIds(const process::Environment& environment,
                                                  const std::string& working_directory,
                                                  Supervisor& supervisor);

}  // namespace autodist::agent
