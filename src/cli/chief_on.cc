#include "cli/chief_on.h"

#include <algorithm>
#include <string>
#include <vector>

#include "chief/moved/start_there.h"
#include "cli/commands.h"
#include "cli/given_options.h"

namespace autodist::cli {
namespace {

// Of `run` where the chief moves: these are settled here, and that it detaches is said anyway.
constexpr const char* kSettledHere[] = {"--spec", "--hosts",     "--chief-on", "--workdir",
                                        "--sync", "--sync-from", "--detach"};
// And these mean something on this machine alone.
constexpr const char* kOnlyHere[] = {"--slurm", "--kubernetes", "--nproc-per-node", "--agent",
                                     "--stdin-rank"};

chief::MovedStart MovedStartOf(const CLI::App& app, const plan::Input& input,
                               const std::string& node) {
  std::vector<const CLI::Option*> there;
  for (const CLI::Option* option : app.get_options()) {
    const bool settled = std::ranges::any_of(
        kSettledHere, [&](const char* name) { return option == app.get_option(name); });
    if (option->nonpositional() && !settled) there.push_back(option);
  }
  chief::MovedStart start{node, Given(there), input.command, {}};
  start.words.insert(start.words.end(), {"--detach", "--workdir=" + input.working_directory});
  for (const plan::Variable& variable : input.variables) {
    if (!variable.secret) continue;
    start.environment.emplace_back();
    start.environment.back().set_name(variable.name);
    start.environment.back().set_value(variable.value);
  }
  return start;
}

// How to reach the job from here.
std::string FromHere(const RunOptions& options, const std::string& node) {
  const std::string spec =
      options.nodes.spec_file.empty() ? "" : " --spec " + options.nodes.spec_file;
  return "from here: autodist attach" + spec + " --chief-on " + node +
         " last; ps, logs, top, web and stop take the same options";
}

}  // namespace

Status CheckChiefOn(const CLI::App& app, const RunOptions& options) {
  if (!options.detach && !options.dry_run) {
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, "--chief-on goes with --detach"),
        "`autodist attach --chief-on " + options.chief_on + " last` shows what the ranks write");
  }
  for (const char* name : kOnlyHere) {
    if (app.get_option(name)->count() == 0) continue;
    return Error(StatusCode::kInvalidArgument, std::string(name) + " does not go with --chief-on");
  }
  return OkStatus();
}

Status LeaveChiefOut(spec::ResourceSpec& spec) {
  for (spec::Node& node : spec.nodes) {
    if (!node.chief) continue;
    if (node.ssh_config.empty()) {
      return WithRemedy(Error(StatusCode::kInvalidArgument,
                              "--chief-on: the spec does not say how to log in to " + node.address +
                                  ", its chief"),
                        "add an 'ssh_config' to it");
    }
    node.chief = false;
  }
  return OkStatus();
}

int RunFromNode(const CLI::App& run, const RunOptions& options, const plan::Input& input,
                const v1::LaunchPlan& plan, const launch::LaunchOptions& launch) {
  const auto node = chief::NodeForChief(plan, options.chief_on);
  if (!node.ok()) return Fail(node.status(), kExitUsage);
  const int code = chief::StartThere(input.spec, plan, launch, MovedStartOf(run, input, *node));
  if (code == 0) base::Log(base::LogLevel::kInfo, FromHere(options, *node));
  return code;
}

}  // namespace autodist::cli
