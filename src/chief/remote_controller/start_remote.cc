#include "chief/remote_controller/start_remote.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/exit_codes.h"
#include "base/for_user.h"
#include "base/home_folder.h"
#include "base/log.h"
#include "base/parse_number.h"
#include "base/quantity.h"
#include "base/random.h"
#include "base/shell_quote.h"
#include "base/utf8.h"
#include "chief/checks/doctor.h"
#include "chief/checks/preflight.h"
#include "chief/loop/signal_watcher.h"
#include "chief/remote_controller/controller.h"
#include "chief/start/prepared_text.h"
#include "json/proto_json.h"
#include "launch/await_program.h"
#include "launch/launcher.h"
#include "reach/connector_factory.h"
#include "spec/spec_text.h"
#include "ssh/ssh_loop.h"
#include "transfer/node_program.h"

namespace autodist::chief {
namespace {

void MakeChief(const spec::SshGroup& group, spec::Node& node) {
  spec::TakeEnvironment(group, node);
  node.ssh_config.clear();
  node.chief = true;
}

// Keeps the login name if it comes from the OpenSSH configuration here.
void SetLogin(const v1::SshReach& ssh, const spec::ResourceSpec& spec, spec::ResourceSpec& there,
              spec::Node& node) {
  node.port = static_cast<uint16_t>(ssh.port());
  spec::SshGroup group = there.ssh.at(node.ssh_config);
  if (group.username.empty()) {
    group.username = ssh.username();
    node.ssh_config += " as " + ssh.username();
    while (spec.ssh.contains(node.ssh_config)) node.ssh_config += "'";
    there.ssh.emplace(node.ssh_config, std::move(group));
  }
}

using base::Deadline;
using base::Log;
using base::LogLevel;

constexpr std::chrono::seconds kRequestLimit{60};
constexpr std::chrono::seconds kSignalLimit{1};
constexpr int kSignalled = 128;

const v1::NodePlan& NodeOf(const v1::LaunchPlan& plan, const std::string& address) {
  return *std::ranges::find(plan.nodes(), address,
                            [](const v1::NodePlan& node) { return node.address(); });
}

// Returns verified host keys only: a login that accepted a new key has stored it.
HostKeys KnownHostKeys(const v1::LaunchPlan& plan) {
  reach::ConnectorFactory logins;
  HostKeys keys;
  for (const v1::NodePlan& node : plan.nodes()) {
    const v1::SshReach& ssh = node.reach().ssh();
    if (!node.reach().has_ssh() || ssh.host_key_check() == v1::HOST_KEY_CHECK_OFF) continue;
    auto of_node =
        logins.KnownHostsFor(ssh)->KeysOf(ssh.host_key_name(), static_cast<uint16_t>(ssh.port()));
    if (!of_node.empty()) keys[node.address()] = std::move(of_node);
  }
  return keys;
}

// Returns the request for the chief on the node: the same run, without the parts that this machine
// has done.
Result<std::string> MessageOf(const plan::Input& input, const spec::ResourceSpec& there) {
  v1::JobRequest request = input.request;
  request.set_spec_text(spec::SpecText(there));
  request.set_node_source(static_cast<v1::NodeSource>(base::CurrentNodeSource()));
  for (const plan::Variable& variable : input.variables) {
    if (variable.secret) (*request.mutable_passed())[variable.name] = variable.value;
  }
  request.set_job_id(input.job_id);
  request.set_workdir(input.working_directory);
  request.set_detach(true);
  request.clear_spec();
  request.clear_hosts();
  request.clear_host_key_check();
  request.clear_chief_on();
  request.clear_sync();
  request.clear_sync_delete();
  AD_ASSIGN_OR_RETURN(const std::string body, json::ToJson(request, json::Layout::kIndented));
  std::string message;
  for (size_t i = kLengthBytes; i-- > 0;)
    message += static_cast<char>(body.size() >> (8 * i) & 0xFF);
  return message + body;
}

// Shows the output of the chief on the node until it has ended. The output is untrusted, so only
// printable text is shown.
class RemoteLines {
 public:
  explicit RemoteLines(const std::string& nonce) : end_(BeginOfEndedLine(nonce).substr(1)) {}

  // Shows complete lines. Returns the exit code once the end line has arrived.
  std::optional<int> Take(std::string_view text) {
    line_ += text;
    for (size_t end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
      const std::string line = line_.substr(0, end);
      line_.erase(0, end + 1);
      if (line.starts_with(end_)) return ExitCodeIn(line.substr(end_.size()));
      if (!line.empty()) std::fprintf(stderr, "%s\n", base::Printable(line).c_str());
    }
    if (line_.size() > kMaxLineLength) line_.clear();
    return std::nullopt;
  }

 private:
  static constexpr size_t kMaxLineLength = 16 << 10;  // bytes

  static int ExitCodeIn(const std::string& text) {
    constexpr int kLargest = 255;
    const int code = base::ParseNumber<int>(text).value_or(-1);
    return code >= 0 && code <= kLargest ? code : kExitCannotLaunch;
  }

  const std::string end_;
  std::string line_;
};

// Handles signals: the first one ends the start here, or is sent to the chief once that was
// started; the next one, or the end of the terminal, disconnects from the chief.
class SignalTaker {
 public:
  void Take(int signal) {
    const bool leaves = signal == SIGHUP || signal == SIGQUIT;
    if (signal != SIGINT && signal != SIGTERM && !leaves) return;
    const std::lock_guard lock(mutex_);
    const bool first = signal_ == 0;
    signal_ = signal;
    if (there_ < 0) {
      stop_.request_stop();
    } else if (first && !leaves) {
      Send();
    } else {
      left_ = true;
      shutdown(there_, SHUT_RDWR);
    }
  }
  // The socket to the chief; -1: no longer connected.
  void SendTo(int socket) {
    const std::lock_guard lock(mutex_);
    there_ = socket;
    if (socket >= 0 && signal_ != 0) Send();
  }
  std::stop_token stop_token() const { return stop_.get_token(); }
  // The last signal; 0: none.
  int signal() const { return signal_; }
  // Whether a signal has ended the connection to the chief.
  bool left() const { return left_; }

 private:
  void Send() const {
    const std::string byte(1, static_cast<char>(signal_.load()));
    (void)base::WriteAll(there_, byte, Deadline::After(kSignalLimit)).ok();
  }

  std::mutex mutex_;
  int there_ = -1;
  std::stop_source stop_;
  std::atomic<int> signal_ = 0;
  std::atomic<bool> left_ = false;
};

// Says that no chief has reported that the ranks run. `spec`: as given; "": the default one.
void ReportNoAnswer(const std::string& chief, const std::string& spec, bool left) {
  const std::string what =
      left ? "leaving without an answer from the chief on " + chief +
                 "; its ranks may run, or may still start"
           : "the connection with " + chief +
                 " broke before the chief there reported that the ranks run; if they do not run "
                 "yet, it ends them";
  base::LogFailure(WithRemedy(
      Error(StatusCode::kUnavailable, what),
      "check with `autodist ps " + ChiefOnOptions(spec, chief) + "` whether the job runs"));
}

// Shows the chief's output. Returns its exit code; nullopt: the connection ended before.
std::optional<int> PassOn(int socket, const std::string& nonce) {
  RemoteLines lines(nonce);
  char buffer[4096];
  for (;;) {
    const auto got = base::ReadSome(socket, buffer, sizeof buffer, Deadline::Never());
    if (!got.ok() || *got == 0) return std::nullopt;
    if (const auto code = lines.Take({buffer, *got})) return code;
  }
}

// Starts autodist on the node; returns the socket on which it waits for the request. `may_run`:
// whether it may have been started there, also after a failure.
Result<base::UniqueFd> BringAutodist(const v1::NodePlan& node, reach::Connector& connector,
                                     ssh::SshLoop& loop, const std::string& nonce,
                                     std::chrono::milliseconds limit,
                                     std::unique_ptr<transport::Stream>& stream, bool& may_run,
                                     const std::stop_token& stop) {
  AD_ASSIGN_OR_RETURN(const auto program, transfer::NodeProgram::OfAutodist());
  AD_ASSIGN_OR_RETURN(const auto transport, connector.TransportTo(node.reach(), loop));
  const launch::AgentCommand command =
      launch::InstallingCommand(program, nonce, {"remote-controller", nonce});
  AD_ASSIGN_OR_RETURN(stream, transport->Run(command.argv, stop));
  may_run = true;  // if the node had it already
  bool reported = false;
  const auto sent = [&](uint64_t bytes, uint64_t of) {
    may_run = bytes == of;
    if (std::exchange(reported, true)) return;
    Log(LogLevel::kInfo,
        "sending autodist to " + node.address() + ": " + base::Bytes(of) + ", once");
  };
  return launch::AwaitProgram(*stream, program, nonce, command, stop,
                              {.limit = limit, .sent = sent});
}

int StartChief(const v1::NodePlan& node, reach::Connector& connector, const std::string& message,
               const v1::JobRequest& request, SignalTaker& signals) {
  const auto limit = plan::StartLimitOf(request);
  bool may_run = false;
  const auto failed = [&](const Status& why) {
    if (!signals.stop_token().stop_requested()) {
      base::LogFailure(Annotate(why, "the chief on " + node.address()));
      return kExitCannotLaunch;
    }
    base::LogFailure(Error(StatusCode::kCancelled,
                           "interrupted before " + node.address() +
                               " had received the job: no rank starts" +
                               (may_run ? "; autodist there ends when it notices" : "")));
    return kSignalled + signals.signal();
  };
  const auto loop = ssh::SshLoop::Create();
  if (!loop.ok()) return failed(loop.status());
  const std::string nonce = base::RandomHex();
  std::unique_ptr<transport::Stream> stream;
  const auto socket =
      BringAutodist(node, connector, **loop, nonce, limit, stream, may_run, signals.stop_token());
  if (!socket.ok()) return failed(socket.status());
  {
    const std::stop_callback cancel(signals.stop_token(),
                                    [fd = socket->get()] { shutdown(fd, SHUT_RDWR); });
    const Status said = base::WriteAll(socket->get(), message, Deadline::After(kRequestLimit));
    if (!said.ok()) return failed(said);
  }
  signals.SendTo(socket->get());
  const auto ended = PassOn(socket->get(), nonce);
  signals.SendTo(-1);
  if (!ended) ReportNoAnswer(node.address(), request.spec(), signals.left());
  // Not the code of a stopped job, because this one may run.
  if (!ended && signals.left()) return kExitCannotLaunch;
  const int code = ended.value_or(kExitCannotLaunch);
  if (code == kExitCannotLaunch) {
    Log(LogLevel::kInfo,
        "the chief on " + node.address() +
            " logs in with keys of that machine (~/.ssh/id_* or its ssh-agent); keys of this "
            "machine are not sent there");
  }
  return code;
}

// Prepares all nodes for the run and asks them for their addresses between ranks. kAborted: the
// status has the report, and `code` the exit code.
Result<DataAddresses> VisitNodes(const v1::LaunchPlan& plan, const launch::LaunchOptions& options,
                                 const std::stop_token& stop, int& code) {
  AD_ASSIGN_OR_RETURN(const auto launcher, launch::Launcher::Create(plan, options));
  const std::stop_callback cancel(stop, [&] { launcher->Cancel(); });
  auto nodes = LaunchAll(*launcher, static_cast<size_t>(plan.nodes_size()));
  EndAgents(nodes);
  if (stop.stop_requested()) return Error(StatusCode::kCancelled, "interrupted");
  const std::string report =
      LaunchReport(plan, nodes, options.sync != nullptr, 0, LacksProgramHere(plan));
  if (!report.empty()) {
    code = LaunchExitCode(nodes);
    return Error(StatusCode::kAborted, report);
  }
  DataAddresses reported = ReportedAddresses(plan, nodes);
  AD_RETURN_IF_ERROR(CheckReportedAddresses(plan, reported));
  return reported;
}

}  // namespace

spec::ResourceSpec RewriteSpec(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
                               const std::string& chief, const DataAddresses& reported,
                               const HostKeys& host_keys) {
  spec::ResourceSpec there = spec;
  for (auto& [name, group] : there.ssh) group.proxy_jump.clear();
  for (const v1::NodePlan& planned : plan.nodes()) {
    spec::Node& node = *std::ranges::find(there.nodes, planned.address(),
                                          [](const auto& it) { return it.address; });
    const auto address = reported.find(node.address);
    if (address != reported.end()) node.data_address = address->second;
    if (node.address == chief) {
      MakeChief(spec.group_of(node), node);
      node.port.reset();
    } else if (planned.reach().has_ssh()) {
      SetLogin(planned.reach().ssh(), spec, there, node);
      const bool there_too = !planned.reach().ssh().has_container();  // else it is the container's
      if (node.ssh_address.empty() && there_too) node.ssh_address = node.data_address;
      const auto keys = host_keys.find(node.address);
      if (node.host_keys.empty() && keys != host_keys.end()) node.host_keys = keys->second;
    }
  }
  // Nodes without ranks were not asked, and do not take part.
  std::erase_if(there.nodes, [&](const spec::Node& node) {
    return std::ranges::none_of(plan.nodes(), [&](const v1::NodePlan& planned) {
      return planned.address() == node.address;
    });
  });
  return there;
}

void UseKeysOfThisMachine(spec::ResourceSpec& spec) {
  for (auto& [name, group] : spec.ssh) {
    const bool ours = access(base::ExpandHome(group.key_file).c_str(), R_OK) == 0;
    if (!ours) group.key_file.clear();
  }
}

std::string ChiefOnOptions(const std::string& spec, const std::string& node) {
  return (spec.empty() ? "" : "--spec " + base::ShellQuote(spec) + " ") + "--chief-on " +
         base::ShellQuote(node);
}

Result<std::string> NodeForChief(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
                                 const std::string& wanted) {
  const auto refuse = [](const std::string& what, const std::string& remedy) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, what), remedy);
  };
  if (plan.nodes(0).reach().has_local()) {
    return refuse("--chief-on is for a run from outside, but this machine is one of the nodes",
                  "use --detach for a job that continues without this terminal");
  }
  const auto node = std::ranges::find_if(plan.nodes(), [&](const v1::NodePlan& it) {
    return it.address() == wanted || (wanted == "first" && it.node_rank() == 0);
  });
  if (node == plan.nodes().end()) {
    return refuse("--chief-on " + wanted + ": no node has that address",
                  "give one that has ranks, such as " + plan.nodes(0).address() + ", or first");
  }
  const auto given = std::ranges::find(spec.nodes, node->address(), &spec::Node::address);
  if (!node->reach().has_ssh() || !spec.group_of(*given).via.empty()) {
    return refuse("--chief-on " + wanted +
                      ": the chief must be on a machine that SSH reaches and whose ranks do not "
                      "run in a container",
                  "give another node");
  }
  return node->address();
}

int StartRemote(const plan::Input& input, const v1::LaunchPlan& plan,
                const launch::LaunchOptions& options, const std::string& chief) {
  SignalTaker signals;
  const SignalWatcher watcher([&](int signal) { signals.Take(signal); });
  int code = kExitCannotLaunch;
  const auto reported = VisitNodes(plan, options, signals.stop_token(), code);
  const auto message =
      reported.ok()
          ? MessageOf(input, RewriteSpec(input.spec, plan, chief, *reported, KnownHostKeys(plan)))
          : reported.status();
  if (message.ok()) {
    return StartChief(NodeOf(plan, chief), *options.connector, *message, input.request, signals);
  }
  if (signals.stop_token().stop_requested()) return kSignalled + signals.signal();
  base::LogFailure(message.status());
  return code;
}

}  // namespace autodist::chief
