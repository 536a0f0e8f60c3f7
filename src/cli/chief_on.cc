#include "cli/chief_on.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/shell_quote.h"
#include "chief/moved/start_there.h"
#include "cli/commands.h"
#include "cli/given_options.h"

namespace autodist::cli {
namespace {

// Of `run` where the chief moves: these are settled here, and that it detaches is said anyway.
constexpr const char* kSettledHere[] = {"--spec", "--hosts",     "--chief-on", "--workdir",
                                        "--sync", "--sync-from", "--detach"};
// And these mean something on this machine alone.
constexpr const char* kOnlyHere[] = {"--slurm",      "--kubernetes", "--nproc-per-node", "--agent",
                                     "--stdin-rank", "--web",        "--web-control"};
// What the chief itself finds in its environment is that of its node.
constexpr const char* kOfTheChief[] = {"HOME",          "PATH",           "TMPDIR",
                                       "SSH_AUTH_SOCK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"};

chief::MovedStart MovedStartOf(const CLI::App& app, const plan::Input& input,
                               const std::string& node) {
  std::vector<const CLI::Option*> there;
  for (const CLI::Option* option : app.get_options()) {
    const bool settled = option->check_name("--no-config") ||
                         std::ranges::any_of(kSettledHere, [&](const char* name) {
                           return option == app.get_option(name);
                         });
    if (option->nonpositional() && !settled) there.push_back(option);
  }
  chief::MovedStart start{node, Given(there), input.command, {}};
  start.words.insert(start.words.end(),
                     {"--no-config", "--detach", "--workdir=" + input.working_directory});
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
  const std::string& file = options.nodes.spec_file;
  const std::string spec = file.empty() ? "" : " --spec " + base::ShellQuote(file);
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
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, std::string(name) + " does not go with --chief-on"),
        std::string(name).starts_with("--web")
            ? "`autodist web --chief-on " + options.chief_on + "` shows the page here"
            : "leave it out");
  }
  for (const std::string& name : options.program.pass_env) {
    const bool own = std::ranges::count(kOfTheChief, name) > 0 || name.starts_with("LD_");
    if (!own) continue;
    return WithRemedy(
        Error(StatusCode::kInvalidArgument,
              "--pass-env " + name + ": with --chief-on it would be the chief's, too"),
        "set it for the ranks by --env or by shared_envs");
  }
  return OkStatus();
}

Status LeaveChiefOut(spec::ResourceSpec& spec) {
  for (spec::Node& node : spec.nodes) {
    if (!node.chief) continue;
    if (node.ssh_config.empty()) {
      return WithRemedy(
          Error(StatusCode::kInvalidArgument,
                "--chief-on: nothing says how to log in to " + node.address + ", the chief"),
          "where that is this machine, --detach alone keeps the job running; else "
          "add an 'ssh_config' to it in the spec");
    }
    node.chief = false;
  }
  return OkStatus();
}

int RunFromNode(const CLI::App& run, const RunOptions& options, const plan::Input& input,
                const v1::LaunchPlan& plan, const std::string& node,
                const launch::LaunchOptions& launch) {
  const int code = chief::StartThere(input.spec, plan, launch, MovedStartOf(run, input, node));
  if (code == 0) base::Log(base::LogLevel::kInfo, FromHere(options, node));
  return code;
}

}  // namespace autodist::cli
