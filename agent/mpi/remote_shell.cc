#include "agent/mpi/remote_shell.h"

#include <absl/strings/str_join.h>
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "autodist/v1/rendezvous.grpc.pb.h"
#include "base/random.h"
#include "base/split.h"
#include "base/thread.h"
#include "process/spawn.h"
#include "rpc/channel.h"

namespace autodist::agent {
namespace {

using Clock = std::chrono::system_clock;

constexpr int kNotRun = 255;
constexpr std::chrono::seconds kHandOverLimit{30};
// The limit of one call; waiting for a command repeats it.
constexpr std::chrono::hours kWaitLimit{1};

// ssh's options, with a colon after those that take a value. The plus sign stops at the first
// argument that is no option.
constexpr char kOptionsOfSsh[] =
    "+1246ab:c:e:fgi:kl:m:no:p:qstvxAB:CD:E:F:GI:J:KL:MNO:P:Q:R:S:TVw:W:XYy";

int NotRun(const std::string& why) {
  std::fprintf(stderr, "autodist: remote shell: %s\n", why.c_str());
  return kNotRun;
}

// The keys in the job's rendezvous for the commands to one node. Node 0, where mpirun runs, sets
// the commands by number; the node sets the number of the next command, and which ones it has
// taken. Only that node can set them (src/chief/attempt/rendezvous.cc).
class NodeKeys {
 public:
  explicit NodeKeys(const std::string& node)
      : commands_("autodist/node-0/remote-shell/" + node + "/"),
        answers_("autodist/node-" + node + "/remote-shell/") {
    const char* socket = std::getenv("AUTODIST_AGENT_SOCKET");
    if (socket) rendezvous_ = v1::RendezvousService::NewStub(rpc::ChannelTo(socket));
  }

  bool InAJob() const { return rendezvous_ != nullptr; }

  std::string Command(const std::string& number) const { return commands_ + number; }
  std::string Next() const { return answers_ + "next"; }
  // The nonce of the command that was taken with this number.
  std::string Taken(const std::string& number) const { return answers_ + number + "/taken"; }

  Status Set(const std::string& key, const std::string& value, Clock::time_point limit) {
    grpc::ClientContext context;
    context.set_deadline(limit);
    v1::SetRequest request;
    request.set_key(key);
    request.set_value(value);
    v1::SetResponse response;
    return rpc::FromGrpc(rendezvous_->Set(&context, request, &response));
  }

  // Blocks until the key is set.
  Result<std::string> Get(const std::string& key, Clock::time_point limit) {
    grpc::ClientContext context;
    context.set_deadline(limit);
    v1::GetRequest request;
    request.set_key(key);
    v1::GetResponse response;
    AD_RETURN_IF_ERROR(rpc::FromGrpc(rendezvous_->Get(&context, request, &response)));
    return std::move(*response.mutable_value());
  }

 private:
  const std::string commands_;
  const std::string answers_;
  std::unique_ptr<v1::RendezvousService::Stub> rendezvous_;  // null outside of a job
};

// Several callers may use the same number: the server takes one command, the others retry.
Status HandOver(NodeKeys& keys, const std::string& line) {
  const Clock::time_point limit = Clock::now() + kHandOverLimit;
  const std::string nonce = base::RandomHex();
  for (;;) {
    AD_ASSIGN_OR_RETURN(const std::string number, keys.Get(keys.Next(), limit));
    AD_RETURN_IF_ERROR(keys.Set(keys.Command(number), nonce + "\n" + line, limit));
    AD_ASSIGN_OR_RETURN(const std::string taken, keys.Get(keys.Taken(number), limit));
    if (taken == nonce) return OkStatus();
  }
}

// Waits for the command with this number; returns its line.
Result<std::string> Take(NodeKeys& keys, uint64_t number) {
  const std::string name = std::to_string(number);
  Result<std::string> command = Error(StatusCode::kDeadlineExceeded, "");
  while (command.status().code() == StatusCode::kDeadlineExceeded) {
    command = keys.Get(keys.Command(name), Clock::now() + kWaitLimit);
  }
  AD_RETURN_IF_ERROR(command.status());
  const size_t end = command->find('\n');
  if (end == std::string::npos) return Error(StatusCode::kInvalidArgument, "not a command");
  const Clock::time_point limit = Clock::now() + kHandOverLimit;
  // In this order: a caller that finds another command in its place then finds a higher number.
  AD_RETURN_IF_ERROR(keys.Set(keys.Next(), std::to_string(number + 1), limit));
  AD_RETURN_IF_ERROR(keys.Set(keys.Taken(name), command->substr(0, end), limit));
  return command->substr(end + 1);
}

// Does not wait for the end; if it fails, this process exits with its exit code.
Status Run(const std::string& line) {
  process::SpawnRequest shell = process::OurProgram({"/bin/sh", "-c", line});
  shell.stdin_fd = STDIN_FILENO;
  shell.stdout_fd = STDOUT_FILENO;
  shell.stderr_fd = STDERR_FILENO;
  shell.dies_with_thread = shell.own_process_group = false;  // the agent ends it with the job
  AD_ASSIGN_OR_RETURN(const pid_t pid, process::Spawn(shell));
  AD_ASSIGN_OR_RETURN(std::jthread waiting, base::StartThread([pid] {
                        const int code = process::ExitCode(process::Reap(pid));
                        if (code != 0) _exit(code);
                      }));
  waiting.detach();
  return OkStatus();
}

Status Serve(NodeKeys& keys) {
  AD_RETURN_IF_ERROR(keys.Set(keys.Next(), "0", Clock::now() + kHandOverLimit));
  for (uint64_t number = 0;; ++number) {
    AD_ASSIGN_OR_RETURN(const std::string line, Take(keys, number));
    AD_RETURN_IF_ERROR(Run(line));
  }
}

// Skips from argv[optind] on.
void SkipOptionsOfSsh(int argc, char** argv) {
  opterr = 0;
  while (getopt(argc, argv, kOptionsOfSsh) != -1) {
  }
}

}  // namespace

int RemoteShell(int argc, char** argv) {
  optind = 2;
  SkipOptionsOfSsh(argc, argv);
  if (optind >= argc) return NotRun("a host and a command are needed");
  std::string host = argv[optind++];
  host.erase(0, host.rfind('@') + 1);
  SkipOptionsOfSsh(argc, argv);
  if (optind >= argc) return NotRun("a host and a command are needed");
  // Like ssh: joins the arguments with spaces to a line for the node's shell.
  const std::string line = absl::StrJoin(argv + optind, argv + argc, " ");

  const char* addresses = std::getenv("AUTODIST_NODE_ADDRESSES");
  if (!addresses) return NotRun("this is not part of a job");
  const auto nodes = base::Split(addresses, ',');
  const auto node = std::ranges::find(nodes, host);
  if (node == nodes.end()) {
    return NotRun(host + " is none of the job's nodes, which are " + addresses +
                  "; leave out --hostfile and --host: mpirun has the nodes from autodist");
  }
  NodeKeys keys(std::to_string(node - nodes.begin()));
  if (!keys.InAJob()) return NotRun("this is not part of a job");
  const Status handed_over = HandOver(keys, line);
  return handed_over.ok() ? 0 : NotRun(host + ": " + Message(handed_over));
}

int RemoteShellServer(int argc, char** argv) {
  if (argc != 3) return NotRun("the number of the node is needed");
  NodeKeys keys(argv[2]);
  return NotRun(keys.InAJob() ? Message(Serve(keys)) : "this is not part of a job");
}

}  // namespace autodist::agent
