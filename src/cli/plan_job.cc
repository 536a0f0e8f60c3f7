#include "cli/plan_job.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "base/wall_clock.h"
#include "cli/device_ips.h"
#include "cli/this_machine.h"
#include "reach/resolve.h"
#include "spec/yaml_reader.h"

namespace autodist::cli {
namespace {

constexpr unsigned kFirstRankPort = 16384;
constexpr unsigned kLastRankPort = 28671;

const std::map<std::string, v1::ProgramKind> kKinds = {
    {"device", v1::PROGRAM_KIND_PER_DEVICE},
    {"node", v1::PROGRAM_KIND_PER_NODE},
    {"job", v1::PROGRAM_KIND_PER_JOB},
};

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

Result<std::vector<plan::Variable>> VariablesOf(const Program& program) {
  std::vector<plan::Variable> variables;
  for (const std::string& text : program.env) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return WithRemedy(Error(StatusCode::kInvalidArgument, "--env " + text + " gives no value"),
                        "write --env " + text + "=VALUE, or --pass-env " + text);
    }
    variables.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  for (const std::string& name : program.pass_env) {
    const char* value = std::getenv(name.c_str());
    if (!value) {
      return WithRemedy(Error(StatusCode::kInvalidArgument,
                              "--pass-env " + name + ": the variable is not set here"),
                        "export it first, or leave the option out");
    }
    variables.push_back({name, value, true});
  }
  return variables;
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

Result<plan::Input> InputOf(const spec::ResourceSpec& spec, const Program& program) {
  plan::Input input;
  input.spec = spec;
  input.command = program.command;
  input.kind = program.kind;
  input.dialects = program.dialects;
  AD_ASSIGN_OR_RETURN(input.variables, VariablesOf(program));
  input.job_id = NewJobId();
  input.programs_folder = ProgramsFolder();
  AD_ASSIGN_OR_RETURN(input.person, ThisPerson());
  AD_ASSIGN_OR_RETURN(input.address_of, reach::FindNodes(spec, input.person));
  AD_RETURN_IF_ERROR(ChoosePorts(program, input));
  if (std::ranges::count(program.dialects, "ranktable") > 0) {
    AD_RETURN_IF_ERROR(AskForDeviceIps(input));
  }
  return input;
}

Status ChoosePorts(const Program& program, plan::Input& input) {
  input.master_port = program.master_port;
  if (program.master_port == 0) {
    AD_ASSIGN_OR_RETURN(input.master_port, reach::FreePort());
  }
  // Below the ports that Linux gives to whoever connects; the nodes tell whether they are free.
  std::random_device random;
  input.rank_port = static_cast<uint16_t>(
      std::uniform_int_distribution<unsigned>(kFirstRankPort, kLastRankPort)(random));
  size_t most = 0;  // devices of a node
  for (const spec::Node& node : input.spec.nodes) {
    most = std::max({most, node.gpus.size(), node.cpus.size()});
  }
  if (input.master_port >= input.rank_port && input.master_port < input.rank_port + most) {
    input.rank_port = input.master_port + 1;
  }
  return OkStatus();
}

Result<v1::LaunchPlan> PlanJob(const spec::ResourceSpec& spec, const Program& program) {
  AD_ASSIGN_OR_RETURN(const plan::Input input, InputOf(spec, program));
  return plan::MakePlan(input);
}

void AddProgramOptions(CLI::App& app, Program& program) {
  app.add_option("--per", program.kind,
                 "How often the program is started: once per device; once per node, where it "
                 "starts the node's ranks itself (torchrun); once per job, on the chief (mpirun)")
      ->transform(CLI::CheckedTransformer(kKinds).description("device|node|job"))
      ->default_str("device");
  app.add_option("--dialect", program.dialects,
                 "Whose variables tell the ranks who they are, with commas between: torch, paddle, "
                 "jax, ... (`autodist dialects`); default: the launcher's, or torch")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--master-port", program.master_port,
                 "Port of the ranks' rendezvous on the chief; default: one that is free");
  app.add_option("--env", program.env, "A variable for all processes on every node, as it is")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--pass-env", program.pass_env,
                 "A variable that all processes get from this environment, for secrets: its value "
                 "is never shown")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

}  // namespace autodist::cli
