#include "cli/plan_job.h"

#include <cstdio>
#include <random>

#include "base/wall_clock.h"
#include "cli/this_machine.h"
#include "reach/resolve.h"
#include "spec/yaml_reader.h"

namespace autodist::cli {
namespace {

// "20261120-173000-3fa9c1": sorts by time, to a quarter of a millisecond (3fa), and does not repeat
// (9c1 is random).
std::string NewJobId() {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t now = base::NanosecondsSince1970();
  const int64_t part = now % kSecond * 4096 / kSecond;
  char word[16];
  std::snprintf(word, sizeof word, "-%03x%03x", static_cast<unsigned>(part),
                std::random_device()() & 0xFFF);
  return base::LocalTime("%Y%m%d-%H%M%S", now / kSecond) + word;
}

}  // namespace

std::optional<spec::ResourceSpec> ReadOrDefaultSpec(const std::string& file) {
  if (file.empty()) return spec::SingleNode(LocalGpus());
  spec::ReadOutcome outcome = spec::ReadSpecFile(file);
  for (const spec::Problem& problem : outcome.problems) {
    std::fprintf(stderr, "%s\n", problem.ToString().c_str());
  }
  return outcome.spec;
}

Result<plan::Input> InputOf(const spec::ResourceSpec& spec, const std::vector<std::string>& program,
                            uint16_t master_port) {
  plan::Input input;
  input.spec = spec;
  input.command = program;
  input.job_id = NewJobId();
  input.master_port = master_port;
  AD_ASSIGN_OR_RETURN(input.person, ThisPerson());
  AD_ASSIGN_OR_RETURN(input.address_of, reach::FindNodes(spec, input.person));
  if (master_port == 0) {
    AD_ASSIGN_OR_RETURN(input.master_port, reach::FreePort());
  }
  return input;
}

Result<v1::LaunchPlan> PlanJob(const spec::ResourceSpec& spec,
                               const std::vector<std::string>& program, uint16_t master_port) {
  AD_ASSIGN_OR_RETURN(const plan::Input input, InputOf(spec, program, master_port));
  return plan::MakePlan(input);
}

}  // namespace autodist::cli
