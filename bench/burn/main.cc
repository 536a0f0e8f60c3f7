// autodist-burn MILLISECONDS: loads one device, and prints how fast it is and whether its results
// are right. Started by `autodist doctor --burn` as the ranks of a job.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/parse_number.h"
#include "cpu_works.h"
#include "gpu_works.h"
#include "stopped_time.h"

namespace autodist::burn {
namespace {

using std::chrono::milliseconds;

Result<std::string> BurnGpu(milliseconds time) {
  const char* const rank = std::getenv("AUTODIST_LOCAL_RANK");  // indexes the node's GPUs
  AD_ASSIGN_OR_RETURN(const auto gpu, CudaDevice::Open(rank ? std::atoi(rank) : 0));
  AD_ASSIGN_OR_RETURN(const auto works, GpuWorks(*gpu));
  AD_ASSIGN_OR_RETURN(const Measured measured, Burn(works, time));
  return AsJson(gpu->name(), measured);
}

Result<std::string> BurnCpu(milliseconds time) {
  const char* const ranks = std::getenv("AUTODIST_LOCAL_WORLD_SIZE");
  const StoppedTime stopped(ranks ? std::atoi(ranks) : 1);
  AD_ASSIGN_OR_RETURN(Measured measured, Burn(CpuWorks(), time));
  measured.stopped = stopped.Share();
  return AsJson(CpuName(), measured);
}

Result<std::string> Run(std::string_view text) {
  const char* const device = std::getenv("AUTODIST_DEVICE");
  const auto number = base::ParseNumber<uint32_t>(text);
  if (!device || !number) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "not started as a rank"),
                      "start this program with `autodist doctor --burn`");
  }
  const milliseconds time(*number);
  return device == std::string_view("gpu") ? BurnGpu(time) : BurnCpu(time);
}

}  // namespace
}  // namespace autodist::burn

int main(int argc, char** argv) {
  const auto line = autodist::burn::Run(argc == 2 ? argv[1] : "");
  if (line.ok()) return std::puts(line->c_str()) < 0 ? 1 : 0;
  const std::string remedy = autodist::Remedy(line.status());
  std::fprintf(stderr, "autodist-burn: %s\n%s%s%s", autodist::Message(line.status()).c_str(),
               remedy.empty() ? "" : "hint: ", remedy.c_str(), remedy.empty() ? "" : "\n");
  return 1;
}
