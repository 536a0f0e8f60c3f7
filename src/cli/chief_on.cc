#include "cli/chief_on.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/random.h"
#include "base/shell_quote.h"
#include "chief/remote_controller/run_remote.h"
#include "chief/remote_controller/start_remote.h"
#include "cli/field_option.h"
#include "cli/nodes_options.h"
#include "cli/values.h"
#include "plan/ssh_reach.h"
#include "reach/connector_factory.h"
#include "reach/resolve.h"
#include "reach/this_machine.h"

namespace autodist::cli {
namespace {

// Returns the command that attaches to the job from this machine.
std::string FromHere(const v1::JobRequest& request, const std::string& node) {
  const std::string& file = request.spec();
  const std::string spec = file.empty() ? "" : " --spec " + base::ShellQuote(file);
  return "from here: autodist attach" + spec + " --chief-on " + node +
         " last (same options for ps, status, logs, top, web, why, stacks and stop)";
}

constexpr char kChiefOn[] = "--chief-on";
constexpr char kSpec[] = "--spec";
constexpr char kListen[] = "--listen";

struct RemoteCommand {
  std::string spec_file;
  std::string node;
};

// Returns a spec with only the chosen node, from the user's spec or as ssh reaches it.
Result<spec::ResourceSpec> SpecOfNode(const RemoteCommand& chosen) {
  spec::ResourceSpec of_node;
  of_node.nodes.emplace_back();
  of_node.nodes[0].address = chosen.node;
  of_node.nodes[0].ssh_config = "there";
  of_node.ssh["there"];  // login as ssh is configured
  const auto spec = SpecFileOf(chosen.spec_file);
  if (!spec) return Error(StatusCode::kAborted, "already reported");
  if (spec->nodes.empty() && chosen.node == "first") {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "--chief-on first: no spec"),
                      "give --spec, or the address of the node");
  }
  const auto node = std::ranges::find_if(spec->nodes, [&](const spec::Node& it) {
    return it.address == chosen.node || (chosen.node == "first" && !it.devices().empty());
  });
  if (node == spec->nodes.end()) {
    // A host that ssh reaches; the default spec need not contain it.
    if (chosen.spec_file.empty() && chosen.node != "first") return of_node;
    return WithRemedy(Error(StatusCode::kInvalidArgument,
                            "--chief-on " + chosen.node + ": no node of the spec has that address"),
                      "give an address of the spec, or first");
  }
  if (node->ssh_config.empty() || !spec->group_of(*node).via.empty()) {
    return Error(StatusCode::kInvalidArgument,
                 "--chief-on " + chosen.node + ": the spec has no SSH login for it");
  }
  of_node.ssh = spec->ssh;
  of_node.nodes[0] = *node;
  of_node.nodes[0].chief = false;
  return of_node;
}

Result<v1::SshReach> ReachOf(const RemoteCommand& chosen) {
  AD_ASSIGN_OR_RETURN(const spec::ResourceSpec spec, SpecOfNode(chosen));
  AD_ASSIGN_OR_RETURN(const plan::User user, reach::ThisUser());
  AD_ASSIGN_OR_RETURN(const auto addresses, reach::FindNodes(spec, user));
  const spec::Node& node = spec.nodes.front();
  return plan::MakeSshReach(node, spec.group_of(node), addresses.at(node.address), user);
}

// Forwards an address of this machine to the page that the node serves.
Result<chief::Forward> ForwardFor(const CLI::App& web, std::vector<std::string>& argv) {
  std::string here = web.get_option(kListen)->as<std::string>();
  if (web.get_option(kListen)->count() == 0 || here.ends_with(":0")) {
    AD_ASSIGN_OR_RETURN(const uint16_t port, reach::FreePort());
    const std::string address = here.substr(0, here.rfind(':'));
    here = (address.empty() ? "127.0.0.1" : address) + ":" + std::to_string(port);
  }
  chief::Forward forward{here, "/tmp/autodist-web-" + base::RandomHex() + ".sock"};
  argv.insert(argv.end(), {"--forwarded", forward.remote_socket, here});
  return forward;
}

int RunRemoteCommand(const CLI::App& app, const RemoteCommand& chosen,
                     std::vector<std::string> argv) {
  const auto node = ReachOf(chosen);
  if (node.status().code() == StatusCode::kAborted) return kExitUsage;
  if (!node.ok()) return Fail(node.status(), kExitUsage);
  std::optional<chief::Forward> forward;
  if (app.get_name() == "web") {
    auto made = ForwardFor(app, argv);
    if (!made.ok()) return Fail(made.status(), kExitCannotLaunch);
    forward = *std::move(made);
  }
  const auto code = chief::RunRemote(*node, argv, forward);
  return code.ok() ? *code : Fail(code.status(), kExitCannotLaunch);
}

}  // namespace

Status CheckChiefOn(const v1::JobRequest& request, bool dry_run) {
  if (!request.detach() && !dry_run) {
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, "--chief-on needs --detach"),
        "`autodist attach --chief-on " + request.chief_on() + " last` shows the output");
  }
  std::vector<const google::protobuf::FieldDescriptor*> given;
  request.GetReflection()->ListFields(request, &given);
  for (const google::protobuf::FieldDescriptor* field : given) {
    if (MayTravel(*field, v1::TRAVELS_WITH_CHIEF)) continue;
    const std::string name = OptionName(*field);
    return WithRemedy(Error(StatusCode::kInvalidArgument, name + " cannot be used with --chief-on"),
                      name.starts_with("--web") ? "`autodist web --chief-on " + request.chief_on() +
                                                      "` shows the page here"
                                                : "leave it out");
  }
  return OkStatus();
}

Status LeaveChiefOut(spec::ResourceSpec& spec) {
  for (spec::Node& node : spec.nodes) {
    if (!node.chief) continue;
    if (node.ssh_config.empty()) {
      return WithRemedy(
          Error(StatusCode::kInvalidArgument,
                "--chief-on: no login is configured for " + node.address + ", the chief"),
          "if it is this machine, --detach is enough; else add an 'ssh_config' to it in the "
          "spec");
    }
    node.chief = false;
  }
  return OkStatus();
}

int RunFromNode(const plan::Input& input, const v1::LaunchPlan& plan, const std::string& node,
                std::shared_ptr<transfer::FolderSync> sync) {
  launch::LaunchOptions launch;
  launch.request = input.request;
  launch.connector = reach::ConnectorFactory::For(plan);
  launch.sync = std::move(sync);
  const int code = chief::StartRemote(input, plan, launch, node);
  if (code == 0) base::Log(base::LogLevel::kInfo, FromHere(input.request, node));
  return code;
}

Command OrRemote(CLI::App& app, const CommandLine& line, Command here) {
  auto chosen = std::make_shared<RemoteCommand>();
  CLI::Option* const node =
      app.add_option(kChiefOn, chosen->node,
                     "Jobs whose chief runs on this node (run --chief-on): an address, or first")
          ->check(NotEmpty("ADDRESS"));
  app.add_option(kSpec, chosen->spec_file,
                 "With --chief-on: the spec for the login; default as for run")
      ->check(NotEmpty("FILE"))
      ->needs(node);
  return [chosen, &app, &line, here = std::move(here)] {
    return chosen->node.empty() || line.from_elsewhere ? here()
                                                       : RunRemoteCommand(app, *chosen, line.argv);
  };
}

}  // namespace autodist::cli
