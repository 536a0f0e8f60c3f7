#include "chief/plan_job.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "base/random.h"
#include "base/wall_clock.h"
#include "reach/device_ips.h"
#include "reach/resolve.h"
#include "reach/this_machine.h"

namespace autodist::chief {
namespace {

constexpr unsigned kFirstRankPort = 16384;
constexpr unsigned kLastRankPort = 28671;

// "20261120-173000-3fa9c1": sorts by time, to a quarter of a millisecond (3fa), and does not repeat
// (9c1 is random).
std::string NewJobId() {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t now = base::NanosecondsSince1970();
  const int64_t part = now % kSecond * 4096 / kSecond;
  char word[16];
  std::snprintf(word, sizeof word, "-%03x%03x", static_cast<unsigned>(part),
                static_cast<unsigned>(base::RandomNumber() & 0xFFF));
  return base::LocalTime("%Y%m%d-%H%M%S", now / kSecond) + word;
}

Status ChoosePorts(uint16_t master_port, plan::Input& input) {
  input.master_port = master_port;
  if (master_port == 0) {
    AD_ASSIGN_OR_RETURN(input.master_port, reach::FreePort());
  }
  // Below the ports that Linux gives to whoever connects; the nodes tell whether they are free.
  std::mt19937_64 random(base::RandomNumber());
  input.rank_port = static_cast<uint16_t>(
      std::uniform_int_distribution<unsigned>(kFirstRankPort, kLastRankPort)(random));
  size_t most = 0;  // devices of a node
  for (const spec::Node& node : input.spec.nodes) {
    most = std::max(most, node.devices().size());
  }
  if (input.master_port >= input.rank_port && input.master_port < input.rank_port + most) {
    input.rank_port = input.master_port + 1;
  }
  return OkStatus();
}

}  // namespace

Result<plan::Input> InputOf(const spec::ResourceSpec& spec, const Program& program) {
  plan::Input input;
  input.spec = spec;
  input.command = program.command;
  input.kind = program.kind;
  input.dialects = program.dialects;
  input.variables = program.variables;
  input.job_id = NewJobId();
  AD_ASSIGN_OR_RETURN(input.user, reach::ThisUser());
  AD_ASSIGN_OR_RETURN(input.address_of, reach::FindNodes(spec, input.user));
  AD_RETURN_IF_ERROR(reach::SettleChief(input));
  input.working_directory = !program.working_directory.empty() ? program.working_directory
                            : input.spec.chief()               ? input.user.working_directory
                                                               : reach::BelowHome(input.user);
  AD_RETURN_IF_ERROR(ChoosePorts(program.master_port, input));
  if (std::ranges::count(program.dialects, "ranktable") > 0) {
    AD_RETURN_IF_ERROR(reach::AskForDeviceIps(input));
  }
  return input;
}

Result<v1::LaunchPlan> PlanJob(const spec::ResourceSpec& spec, const Program& program) {
  AD_ASSIGN_OR_RETURN(const plan::Input input, InputOf(spec, program));
  return plan::MakePlan(input);
}

Result<v1::LaunchPlan> PlanAttempt(plan::Input input, uint16_t master_port,
                                   const plan::Replan& replan) {
  input.members = replan.members;
  input.restart_count = replan.attempt;
  for (const auto& [node, told] : replan.told_addresses) {
    input.address_of[node].data = told;
    input.address_of[node].ask = false;
  }
  AD_RETURN_IF_ERROR(ChoosePorts(master_port, input));
  return plan::MakePlan(input);
}

}  // namespace autodist::chief
