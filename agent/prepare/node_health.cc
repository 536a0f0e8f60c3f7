#include "agent/prepare/node_health.h"

#include <unistd.h>

#include <ctime>

#include <chrono>
#include <deque>
#include <iterator>
#include <vector>

#include "agent/prepare/gpus.h"
#include "health/kernel_log.h"
#include "health/links.h"
#include "health/nvidia_smi.h"
#include "health/system.h"
#include "process/kernel_log.h"

namespace autodist::agent {
namespace {

using health::Fault;
using health::GpuDescription;

constexpr int kMaxFaults = 64;  // in a message

void Append(std::vector<Fault> more, std::vector<Fault>& faults) {
  faults.insert(faults.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

std::vector<Fault> FindInOwnKernelLog(const std::vector<health::PciPlace>& gpus) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  process::KernelLog log(process::KernelLog::From::kStart);
  std::deque<std::string> texts;
  std::vector<health::LogLine> lines;
  log.Read([&](const process::KernelRecord& record) {
    const auto time = std::chrono::duration_cast<std::chrono::seconds>(record.since_boot);
    lines.push_back({texts.emplace_back(record.line), std::chrono::seconds(now.tv_sec) - time});
  });
  return health::FindInKernelLog(lines, gpus);
}

v1::HardwareFault AsMessage(const Fault& fault, const std::vector<GpuDescription>& gpus) {
  v1::HardwareFault message;
  message.set_what(fault.subject.empty() ? fault.what : fault.subject + " " + fault.what);
  message.set_fatal(fault.severity == health::Severity::kFatal);
  message.set_source(fault.source);
  message.set_remedy(fault.remedy);
  message.set_min_gpus(fault.min_gpus);
  if (fault.gpu) message.set_gpu(*fault.gpu);
  if (fault.gpu && *fault.gpu < gpus.size()) {
    const auto uuid = gpus[*fault.gpu].values.find("uuid");
    if (uuid != gpus[*fault.gpu].values.end()) message.set_gpu_uuid(uuid->second);
  }
  return message;
}

}  // namespace

v1::NodeInfo HardwareFaults(const process::Environment& environment,
                            const std::string& working_directory, Supervisor& supervisor,
                            const std::string& root) {
  const std::vector<health::PciPlace> places = health::GpusOfDriver(root);
  std::vector<Fault> faults = FindInOwnKernelLog(places);
  std::vector<GpuDescription> gpus;
  const auto printed = DescribeGpus(environment, working_directory, supervisor, root);
  if (printed.ok()) {
    gpus = health::ParseGpus(*printed).value_or(std::vector<GpuDescription>());
  } else {
    Append(health::FindInFailure(Message(printed.status())), faults);
    if (printed.status().code() == StatusCode::kNotFound &&
        access((root + kDriverFolder).c_str(), F_OK) != 0 && health::HasNvidiaGpu(root)) {
      faults.push_back({health::Severity::kFatal, "the driver",
                        "is not loaded, though the PCI bus has an NVIDIA GPU", "/sys",
                        "install or load the driver", std::nullopt, 1});
    }
  }
  health::RelateToGpus(places, gpus, faults);
  Append(health::FindInGpus(gpus), faults);
  Append(health::FindInLinks(root), faults);
  Append(health::FindInSystem(root), faults);
  v1::NodeInfo facts;
  for (const Fault& fault : faults) {
    if (facts.hardware_faults_size() < kMaxFaults) {
      *facts.add_hardware_faults() = AsMessage(fault, gpus);
    }
  }
  return facts;
}

}  // namespace autodist::agent
