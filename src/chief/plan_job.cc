#include "chief/plan_job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

#include "base/home_folder.h"
#include "base/random.h"
#include "base/wall_clock.h"
#include "control/job_socket.h"
#include "plan/command_argv.h"
#include "process/program_check.h"
#include "process/spawn.h"
#include "reach/device_ips.h"
#include "reach/resolve.h"
#include "reach/this_machine.h"

namespace autodist::chief {
namespace {

constexpr unsigned kFirstRankPort = 16384;
constexpr unsigned kLastRankPort = 28671;

Status ChoosePorts(plan::Input& input) {
  input.master_port = static_cast<uint16_t>(input.request.master_port());
  if (input.master_port == 0) {
    AD_ASSIGN_OR_RETURN(input.master_port, reach::FreePort());
  }
  // Below Linux's ephemeral ports; the nodes report whether they are free.
  std::mt19937_64 random(base::RandomNumber());
  input.rank_port = static_cast<uint16_t>(
      std::uniform_int_distribution<unsigned>(kFirstRankPort, kLastRankPort)(random));
  size_t max_devices = 0;  // devices of a node
  for (const spec::Node& node : input.spec.nodes) {
    max_devices = std::max(max_devices, node.devices().size());
  }
  if (input.master_port >= input.rank_port && input.master_port < input.rank_port + max_devices) {
    input.rank_port = input.master_port + 1;
  }
  return OkStatus();
}

// Returns the variables of --env and --pass-env.
Result<std::vector<plan::Variable>> VariablesOf(const v1::JobRequest& request) {
  std::vector<plan::Variable> variables;
  for (const std::string& text : request.env()) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return WithRemedy(Error(StatusCode::kInvalidArgument, "--env " + text + " gives no value"),
                        "write --env " + text + "=VALUE, or --pass-env " + text);
    }
    variables.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  for (const std::string& name : request.pass_env()) {
    const auto passed = request.passed().find(name);
    const char* here = std::getenv(name.c_str());
    if (passed == request.passed().end() && !here) {
      return WithRemedy(Error(StatusCode::kInvalidArgument,
                              "--pass-env " + name + ": the variable is not set here"),
                        "export it first, or leave the option out");
    }
    variables.push_back({name, passed == request.passed().end() ? here : passed->second, true});
  }
  return variables;
}

// Whether a command's file is known not to run by itself. `folder`: the program's, here.
bool NeedsInterpreter(const std::string& program, const std::string& folder) {
  const char* path = std::getenv("PATH");
  const process::ProgramPlace place{path ? path : "", folder};
  if (program.find('/') == std::string::npos) {
    return !process::FindProgram(program, place.path, folder).ok() &&
           !process::IsCommandLine(program, place);
  }
  const std::string file = program.starts_with('/') ? program : folder + "/" + program;
  if (access(file.c_str(), F_OK) != 0) return false;
  // It lacks the mode or the "#!".
  return process::CheckProgramFile(file, program, place).code() == StatusCode::kPermissionDenied;
}

// "20261120-173000-3fa9c1": sorts by time, to a quarter of a millisecond (3fa), and is unique (9c1
// is random).
std::string NewJobId() {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t now = base::NanosecondsSince1970();
  const int64_t part = now % kSecond * 4096 / kSecond;
  char word[16];
  std::snprintf(word, sizeof word, "-%03x%03x", static_cast<unsigned>(part),
                static_cast<unsigned>(base::RandomNumber() & 0xFFF));
  return base::LocalTime("%Y%m%d-%H%M%S", now / kSecond) + word;
}

}  // namespace

Result<plan::Input> InputOf(const spec::ResourceSpec& spec, const v1::JobRequest& request) {
  plan::Input input;
  input.request = request;
  input.spec = spec;
  AD_ASSIGN_OR_RETURN(input.variables, VariablesOf(request));
  input.job_id = request.has_job_id() ? request.job_id() : NewJobId();
  if (!control::IsJobId(input.job_id)) {
    return Error(StatusCode::kInvalidArgument, "job_id: '" + input.job_id + "' is not an id");
  }
  AD_ASSIGN_OR_RETURN(input.user, reach::ThisUser());
  AD_ASSIGN_OR_RETURN(input.address_of, reach::FindNodes(spec, input.user));
  AD_RETURN_IF_ERROR(reach::SettleChief(input));
  input.working_directory = request.has_workdir() ? request.workdir()
                            : input.spec.chief()  ? input.user.working_directory
                                                  : reach::BelowHome(input.user);
  input.command = {request.program().begin(), request.program().end()};
  if (!input.command.empty()) {
    const std::string folder = input.spec.chief() ? base::ExpandHome(input.working_directory)
                                                  : input.user.working_directory;
    const bool script = NeedsInterpreter(input.command[0], folder);
    input.command = plan::WithPython(std::move(input.command), script);
  }
  AD_RETURN_IF_ERROR(ChoosePorts(input));
  if (std::ranges::count(request.framework(), "ranktable") > 0) {
    AD_RETURN_IF_ERROR(reach::AskForDeviceIps(input));
  }
  return input;
}

Result<v1::LaunchPlan> PlanJob(const spec::ResourceSpec& spec, const v1::JobRequest& request) {
  AD_ASSIGN_OR_RETURN(const plan::Input input, InputOf(spec, request));
  return plan::MakePlan(input);
}

Result<v1::LaunchPlan> PlanAttempt(plan::Input input, const plan::Replan& replan) {
  input.members = replan.members;
  input.restart_count = replan.attempt;
  for (const auto& [node, reported] : replan.reported_addresses) {
    input.address_of[node].data = reported;
    input.address_of[node].ask = false;
  }
  AD_RETURN_IF_ERROR(ChoosePorts(input));
  return plan::MakePlan(input);
}

}  // namespace autodist::chief
