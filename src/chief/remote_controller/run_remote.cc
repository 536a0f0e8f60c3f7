#include "chief/remote_controller/run_remote.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <absl/strings/escaping.h>
#include <absl/strings/str_split.h>
#include "base/fd.h"
#include "base/random.h"
#include "base/shell_quote.h"
#include "display/screen.h"
#include "process/spawn.h"
#include "scripts/scripts.h"
#include "ssh/ssh_program.h"
#include "transfer/node_program.h"

namespace autodist::chief {
namespace {

constexpr size_t kMaxShownLineLength = 64 << 10;  // bytes; a longer line is passed on in pieces

// Returns the length of the longest suffix of `text` that is a prefix of the mark.
size_t BegunMark(std::string_view text, std::string_view mark) {
  size_t length = std::min(text.size(), mark.size() - 1);
  while (length > 0 && !text.ends_with(mark.substr(0, length))) --length;
  return length;
}

constexpr int kExitOfSshItself = 255;

// The nonce of MarkOf255, for the command on the node.
constexpr char kNonceVariable[] = "AUTODIST_END_NONCE";

std::string Encode(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) text += word + '\0';
  return absl::BytesToHexString(text);
}

// One output stream of the ssh program, through a pipe to ours.
class PassedStream {
 public:
  PassedStream(base::FdPair pipe, int to, RemoteOutput output)
      : pipe_(std::move(pipe)), to_(to), output_(std::move(output)) {}

  int theirs() const { return pipe_.second.get(); }
  void CloseTheirs() { pipe_.second.Reset(); }
  int ours() const { return pipe_.first.get(); }  // -1: ended
  bool ended_with_255() const { return output_.ended_with_255(); }

  // Reads what is available, or the end. If our stream accepts no more, ends it.
  void Continue() {
    char buffer[16 << 10];
    const auto got = base::ReadSome(ours(), buffer, sizeof buffer, base::Deadline::Never());
    if (!got.ok() || *got == 0) return End();
    if (!Write(output_.Take({buffer, *got}))) pipe_.first.Reset();
  }
  void End() {
    if (std::exchange(pipe_.first, {}).valid()) (void)Write(output_.End());
  }

 private:
  bool Write(const std::string& text) const {
    return base::WriteAll(to_, text, base::Deadline::Never()).ok();
  }

  base::FdPair pipe_;
  int to_;
  RemoteOutput output_;
};

// Passes on the streams until the program has ended and its output was passed on. Its children,
// such as a ProxyCommand, may keep the streams open longer. If its end cannot be awaited (-1),
// waits for the end of the streams. `follows`: the program writes until the job ends. Returns false
// as soon as such a program has no reader.
bool PassOnUntilEnd(int program_end, bool follows, std::vector<PassedStream>& streams) {
  const auto open = [](const PassedStream& stream) { return stream.ours() >= 0; };
  for (bool ended = false; program_end >= 0 || std::ranges::any_of(streams, open);) {
    std::vector<pollfd> fds = {{ended ? -1 : program_end, POLLIN, 0},
                               {follows ? STDOUT_FILENO : -1, 0, 0}};
    for (const PassedStream& stream : streams) fds.push_back({stream.ours(), POLLIN, 0});
    const int ready = poll(fds.data(), fds.size(), ended ? 0 : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    if (fds[1].revents != 0) return false;
    ended = ended || fds[0].revents != 0;
    for (size_t i = 0; i < streams.size(); ++i) {
      if (fds[i + 2].revents != 0) streams[i].Continue();
    }
  }
  for (PassedStream& stream : streams) stream.End();
  return true;
}

bool OnTerminal() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

}  // namespace

std::string MarkOf255(const std::string& nonce) {
  return std::string(1, '\0') + "AUTODIST-ENDED-WITH-255 " + nonce;
}

std::string RemoteOutput::Take(std::string_view bytes) {
  held_ += bytes;
  if (const size_t at = held_.find(mark_); at != std::string::npos) {
    marked_ = true;
    held_.erase(at, mark_.size());
  }
  const size_t ready = held_.size() - BegunMark(held_, mark_);
  text_.append(held_, 0, ready);
  held_.erase(0, ready);
  return Shown(false);
}

std::string RemoteOutput::End() {
  text_ += std::exchange(held_, "");
  return Shown(true);
}

std::string RemoteOutput::Shown(bool end) {
  if (!to_terminal_) return std::exchange(text_, "");
  std::string shown;
  size_t begin = 0;
  for (size_t line = text_.find('\n'); line != std::string::npos; line = text_.find('\n', begin)) {
    shown += display::Harmless(std::string_view(text_).substr(begin, line - begin)) + "\n";
    begin = line + 1;
  }
  text_.erase(0, begin);
  if (end || text_.size() > kMaxShownLineLength)
    shown += display::Harmless(std::exchange(text_, ""));
  return shown;
}

Result<std::vector<std::string>> DecodeArgv(const std::string& encoded) {
  const bool hex = std::ranges::all_of(encoded, [](unsigned char c) { return std::isxdigit(c); });
  std::string text = hex && encoded.size() % 2 == 0 ? absl::HexStringToBytes(encoded) : "";
  if (!text.ends_with('\0'))
    return Error(StatusCode::kInvalidArgument, "not an encoded command line");
  text.pop_back();
  return std::vector<std::string>(absl::StrSplit(text, '\0'));
}

void EndWithInput() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  fcntl(STDIN_FILENO, F_SETOWN, getpid());
  fcntl(STDIN_FILENO, F_SETSIG, SIGHUP);
  fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_ASYNC);
  if (poll(&input, 1, 0) > 0) raise(SIGHUP);  // it had ended before
}

void MarkEnd(int code) {
  const char* nonce = getenv(kNonceVariable);
  if (!nonce || code != kExitOfSshItself) return;
  (void)base::WriteAll(STDERR_FILENO, MarkOf255(nonce), base::Deadline::Never()).ok();
}

RemoteHost OverSsh(const v1::SshReach& node, const std::optional<Forward>& forward) {
  RemoteHost host;
  host.name = node.host();
  host.argv_for = [node, forward](const std::vector<std::string>& command, bool terminal) {
    ssh::SshUse use;
    use.command = "exec " + base::ShellLine(command);
    use.terminal = terminal;
    if (forward) use.forward = forward->here + ":" + forward->remote_socket;
    return ssh::SshProgramArgv(node, use);
  };
  host.ends_with_terminal = forward.has_value();
  host.is_ssh = true;
  return host;
}

Result<int> RunRemote(const RemoteHost& host, const std::vector<std::string>& argv) {
  AD_ASSIGN_OR_RETURN(const auto version, transfer::NodeProgram::VersionOfAutodist());
  // Its end shows a command without a terminal that this process has ended.
  AD_ASSIGN_OR_RETURN(const base::FdPair gone, base::Pipe());
  const std::string nonce = base::RandomHex();
  const bool terminal = OnTerminal() || host.ends_with_terminal;
  std::error_code error;
  const std::string our_path = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> command = {"env"};
  if (host.is_ssh) command.push_back(std::string(kNonceVariable) + "=" + nonce);
  command.insert(command.end(), {"sh", "-c", scripts::Script({"own_folder", "run_on_node"}), "sh",
                                 version[0], version[1], std::to_string(host.chief_pid), our_path,
                                 "exec-remote", Encode(argv)});
  process::SpawnRequest request = process::OurProgram(host.argv_for(command, terminal));
  request.stdin_fd = terminal ? STDIN_FILENO : gone.first.get();
  request.stdout_fd = STDOUT_FILENO;
  request.stderr_fd = STDERR_FILENO;
  std::vector<PassedStream> streams;  // the first one has the mark
  const auto pass = [&](int& fd, bool to_terminal) -> Status {
    AD_ASSIGN_OR_RETURN(base::FdPair pipe, base::Pipe());
    streams.emplace_back(std::move(pipe), fd, RemoteOutput(nonce, to_terminal));
    fd = streams.back().theirs();
    return OkStatus();
  };
  // With its own terminal, the command writes for this terminal. Else it writes for a pipe.
  if (!terminal || host.is_ssh) {
    AD_RETURN_IF_ERROR(pass(terminal ? request.stdout_fd : request.stderr_fd,
                            !terminal && isatty(STDERR_FILENO) != 0));
  }
  if (!terminal && isatty(STDOUT_FILENO) != 0) {
    AD_RETURN_IF_ERROR(pass(request.stdout_fd, true));
  }
  request.own_process_group = false;      // it reads from our terminal
  if (terminal) signal(SIGINT, SIG_IGN);  // the command handles it
  AD_ASSIGN_OR_RETURN(const pid_t program, process::Spawn(request));
  for (PassedStream& stream : streams) stream.CloseTheirs();
  const auto end = process::EndOf(program);
  const bool follows = argv.front() == "attach" || argv.front() == "logs";
  const bool is_read = PassOnUntilEnd(end.ok() ? end->get() : -1, follows, streams);
  if (!is_read) kill(program, SIGTERM);
  const int code = process::ExitCode(process::Reap(program));
  if (!is_read) display::EndAsBySigpipe();
  if (!host.is_ssh || code != kExitOfSshItself || streams[0].ended_with_255()) return code;
  return WithRemedy(
      Error(StatusCode::kUnavailable, host.name + ": ssh cannot log in, or the connection broke"),
      "see the messages of ssh above, and run the command again; a running job does not need the "
      "connection");
}

}  // namespace autodist::chief
