#include "chief/moved/start_there.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "autodist/v1/moved.pb.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/random.h"
#include "chief/attempt/exit_codes.h"
#include "chief/attempt/report.h"
#include "chief/checks/told_addresses.h"
#include "chief/checks/visit.h"
#include "chief/loop/signal_watcher.h"
#include "chief/moved/lines.h"
#include "chief/moved/spec_there.h"
#include "launch/agent_program.h"
#include "launch/bootstrap.h"
#include "spec/spec_text.h"
#include "transport/known_hosts.h"
#include "transport/ssh_loop.h"

namespace autodist::chief {
namespace {

using base::Deadline;
using base::Log;
using base::LogLevel;

constexpr std::chrono::seconds kTellLimit{60};
constexpr int kSignalled = 128;

const v1::NodePlan& NodeOf(const v1::LaunchPlan& plan, const std::string& address) {
  return *std::ranges::find(plan.nodes(), address,
                            [](const v1::NodePlan& node) { return node.address(); });
}

// As they have been verified: a login that accepted a new one has written it down.
HostKeys KnownHostKeys(const v1::LaunchPlan& plan) {
  HostKeys keys;
  for (const v1::NodePlan& node : plan.nodes()) {
    const v1::SshReach& ssh = node.reach().ssh();
    if (!node.reach().has_ssh() || ssh.host_key_check() == v1::HOST_KEY_CHECK_OFF) continue;
    const transport::KnownHosts known(
        std::vector<std::string>(ssh.known_hosts_files().begin(), ssh.known_hosts_files().end()));
    auto of_node = known.KeysOf(ssh.host_key_name(), static_cast<uint16_t>(ssh.port()));
    if (!of_node.empty()) keys[node.address()] = std::move(of_node);
  }
  return keys;
}

std::string Message(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
                    const MovedStart& start) {
  v1::MovedRun run;
  run.set_spec(spec::SpecText(spec));
  *run.mutable_words() = {start.words.begin(), start.words.end()};
  *run.mutable_program() = {start.program.begin(), start.program.end()};
  *run.mutable_environment() = {start.environment.begin(), start.environment.end()};
  run.set_working_directory(plan.working_directory());
  const std::string body = run.SerializeAsString();
  std::string message;
  for (size_t i = kLengthBytes; i-- > 0;)
    message += static_cast<char>(body.size() >> (8 * i) & 0xFF);
  return message + body;
}

// What is said there, until it has ended.
class Words {
 public:
  explicit Words(const std::string& nonce) : end_(BeginOfEndedLine(nonce)) {}

  // Passes on what cannot be the beginning of the last line. Its exit code once that has come.
  std::optional<int> Take(std::string_view text) {
    kept_ += text;
    const size_t end = kept_.find(end_);
    if (end != std::string::npos) {
      Say(end);
      const size_t line_end = kept_.find('\n', end_.size());
      int code = 0;
      if (line_end == std::string::npos) return std::nullopt;
      std::from_chars(kept_.data() + end_.size(), kept_.data() + line_end, code);
      return code;
    }
    const size_t last_line = kept_.rfind('\n');
    const bool may_be = last_line != std::string::npos &&
                        end_.starts_with(std::string_view(kept_).substr(last_line));
    Say(may_be ? last_line : kept_.size());
    return std::nullopt;
  }

 private:
  void Say(size_t count) {
    std::fwrite(kept_.data(), 1, count, stderr);
    kept_.erase(0, count);
  }

  const std::string end_;
  std::string kept_;
};

int PassOn(int socket, const std::string& nonce, const std::string& chief) {
  Words words(nonce);
  char buffer[4096];
  for (;;) {
    const auto got = base::ReadSome(socket, buffer, sizeof buffer, Deadline::Never());
    if (!got.ok() || *got == 0) break;
    if (const auto code = words.Take({buffer, *got})) return *code;
  }
  base::LogFailure(WithRemedy(
      Error(StatusCode::kUnavailable, "the connection with " + chief +
                                          " broke before the chief there had told that the ranks "
                                          "run; if they do not yet, it ends them"),
      "`autodist ps --chief-on " + chief + "` tells whether the job runs"));
  return kExitCannotLaunch;
}

int Start(const v1::LaunchPlan& plan, launch::LaunchOptions& options, const std::string& chief,
          const std::string& message, const std::stop_source& stop,
          const std::function<void(std::function<void(int)>)>& on_signal) {
  const auto failed = [&](const Status& why) {
    base::LogFailure(Annotate(why, "the chief on " + chief));
    return kExitCannotLaunch;
  };
  const auto program = launch::AgentProgram::OfAutodist();
  if (!program.ok()) return failed(program.status());
  const auto loop = transport::SshLoop::Create();
  if (!loop.ok()) return failed(loop.status());
  const auto transport = options.logins->TransportTo(NodeOf(plan, chief).reach(), **loop);
  if (!transport.ok()) return failed(transport.status());
  const std::string nonce = base::RandomHex();
  const launch::AgentCommand command =
      launch::InstallingCommand(*program, nonce, {"moved-chief", nonce});
  const auto stream = (*transport)->Run(command.argv, stop.get_token());
  if (!stream.ok()) return failed(stream.status());
  bool told = false;
  const auto sent = [&](uint64_t, uint64_t of) {
    if (std::exchange(told, true)) return;
    Log(LogLevel::kInfo, "sending autodist to " + chief + ": " + base::Bytes(of) + ", once");
  };
  const auto socket =
      launch::AwaitProgram(**stream, *program, nonce, command, stop.get_token(), sent);
  if (!socket.ok()) return failed(socket.status());
  const Status said = base::WriteAll(socket->get(), message, Deadline::After(kTellLimit));
  if (!said.ok()) return failed(said);
  on_signal([fd = socket->get()](int signal) {
    (void)base::WriteAll(fd, std::string(1, static_cast<char>(signal)),
                         Deadline::After(kTellLimit));
  });
  const int code = PassOn(socket->get(), nonce, chief);
  on_signal({});
  if (code == kExitCannotLaunch) {
    Log(LogLevel::kInfo,
        "the chief on " + chief +
            " logs in with keys of that machine (~/.ssh/id_* or its ssh-agent), as "
            "none of this one's goes there");
  }
  return code;
}

// The first signals end what is under way here, those later go to the chief.
class SignalTaker {
 public:
  void Take(int signal) {
    const std::lock_guard lock(mutex_);
    if (signal != SIGINT && signal != SIGTERM) return;
    signal_ = signal;
    if (there_) return there_(signal);
    stop_.request_stop();
  }
  void SendTo(std::function<void(int)> there) {
    const std::lock_guard lock(mutex_);
    there_ = std::move(there);
  }
  const std::stop_source& stop() const { return stop_; }
  int signal() const { return signal_; }

 private:
  std::mutex mutex_;
  std::function<void(int)> there_;
  std::stop_source stop_;
  std::atomic<int> signal_ = 0;
};

}  // namespace

Result<std::string> NodeForChief(const v1::LaunchPlan& plan, const std::string& wanted) {
  const auto refuse = [](const std::string& what, const std::string& remedy) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, what), remedy);
  };
  if (plan.nodes(0).reach().has_local()) {
    return refuse("--chief-on is for a run from outside, but this machine is one of its nodes",
                  "--detach is all that a job needs which is to go on without this terminal");
  }
  const auto node = std::ranges::find_if(plan.nodes(), [&](const v1::NodePlan& it) {
    return it.address() == wanted || (wanted == "first" && it.node_rank() == 0);
  });
  if (node == plan.nodes().end()) {
    return refuse("--chief-on " + wanted + ": no node of the spec has that address",
                  "give one that has ranks, such as " + plan.nodes(0).address() + ", or first");
  }
  if (!node->reach().has_ssh() || node->reach().ssh().has_container()) {
    return refuse("--chief-on " + wanted + ": the chief can only be on a machine that SSH reaches",
                  "give another node");
  }
  return node->address();
}

int StartThere(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
               launch::LaunchOptions options, const MovedStart& start) {
  SignalTaker signals;
  const SignalWatcher watcher([&](int signal) { signals.Take(signal); });
  const auto failed = [](const Status& why) {
    base::LogFailure(why);
    return kExitCannotLaunch;
  };
  DataAddresses told;
  {
    Loop loop;
    const auto launcher = launch::Launcher::Create(plan, options);
    if (!launcher.ok()) return failed(launcher.status());
    const std::stop_callback cancel(signals.stop().get_token(), [&] { (*launcher)->Cancel(); });
    auto nodes = LaunchAll(**launcher, static_cast<size_t>(plan.nodes_size()), loop);
    EndAgents(nodes, loop);
    if (signals.signal() != 0) return kSignalled + signals.signal();
    const std::string report = LaunchReport(plan, nodes, options.sync != nullptr);
    if (!report.empty()) {
      Log(LogLevel::kError, report);
      return LaunchExitCode(nodes);
    }
    told = ToldAddresses(plan, nodes);
    if (const Status all = CheckToldAddresses(plan, told); !all.ok()) return failed(all);
  }
  const auto there = SpecThere(spec, plan, start.chief, told, KnownHostKeys(plan));
  const int code = Start(plan, options, start.chief, Message(there, plan, start), signals.stop(),
                         [&](std::function<void(int)> to) { signals.SendTo(std::move(to)); });
  return signals.stop().stop_requested() ? kSignalled + signals.signal() : code;
}

}  // namespace autodist::chief
