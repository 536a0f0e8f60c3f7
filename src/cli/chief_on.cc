#include "cli/chief_on.h"

#include <vector>

#include "base/log.h"
#include "base/shell_quote.h"
#include "chief/remote_controller/start_remote.h"
#include "cli/field_option.h"
#include "reach/connector_factory.h"

namespace autodist::cli {
namespace {

// Returns the command that attaches to the job from this machine.
std::string FromHere(const v1::JobRequest& request, const std::string& node) {
  const std::string& file = request.spec();
  const std::string spec = file.empty() ? "" : " --spec " + base::ShellQuote(file);
  return "from here: autodist attach" + spec + " --chief-on " + node +
         " last (same options for ps, status, logs, top, web, why, stacks and stop)";
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

}  // namespace autodist::cli
