#include "ssh/ssh_program.h"

#include <absl/strings/ascii.h>
#include <glob.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "base/fd.h"
#include "base/for_user.h"
#include "base/shell_quote.h"
#include "base/split.h"
#include "base/unix_socket.h"
#include "ssh/ssh_errors.h"
#include "transport/local.h"

namespace autodist::ssh {
namespace {

namespace cause = transport::cause;
using transport::CauseError;

constexpr std::chrono::seconds kQueryLimit{10};
constexpr size_t kMaxConfig = 1 << 20;  // bytes

// Settings for every user in the files of Debian and Red Hat.
constexpr std::array kUsual = {"sendenv", "hashknownhosts", "gssapiauthentication"};

bool HasKeyword(const std::string& path, bool system_wide,
                const std::function<bool(const std::string&)>& matters) {
  const auto text = base::ReadFile(path, kMaxConfig);
  if (!text.ok()) return text.status().code() != StatusCode::kNotFound;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream argv(line);
    std::string keyword;
    std::string value;
    std::getline(argv >> std::ws, keyword, '=');
    std::istringstream(keyword) >> keyword >> value;
    keyword = absl::AsciiStrToLower(keyword);
    if (keyword.empty() || keyword.starts_with('#')) continue;
    // The system's file includes its folder, which is read anyway.
    if (system_wide && keyword == "include" && value == "/etc/ssh/ssh_config.d/*.conf") continue;
    if (system_wide && std::ranges::find(kUsual, keyword) != kUsual.end()) continue;
    if (matters(keyword)) return true;
  }
  return false;
}

// Quotes a value with blanks for ssh.
std::string InQuotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// `plainly`: as if `ssh HOST` was typed. Otherwise as with a command, without which some settings
// are an error, for example ForkAfterAuthentication; releases before 7.6 lack the option for it.
std::vector<std::string> QueryArgv(const OpensshQuery& query,
                                   const std::vector<std::string>& options, bool plainly) {
  std::vector<std::string> argv = {"ssh", "-G"};
  if (!plainly) argv.insert(argv.end(), {"-o", "RemoteCommand=none"});
  argv.insert(argv.end(), options.begin(), options.end());
  if (!query.username.empty()) argv.insert(argv.end(), {"-l", query.username});
  if (query.port) argv.insert(argv.end(), {"-p", std::to_string(*query.port)});
  if (!query.hostname.empty()) argv.insert(argv.end(), {"-o", "HostName=" + query.hostname});
  argv.insert(argv.end(), {"--", query.host});
  if (!plainly) argv.emplace_back("true");
  return argv;
}

Result<OpensshConfig> AskSsh(const std::vector<std::string>& argv) {
  AD_ASSIGN_OR_RETURN(const auto program, transport::StartOurProgram(argv));
  AD_ASSIGN_OR_RETURN(
      const std::string output,
      transport::OutputOf(*program, base::Deadline::After(kQueryLimit), kMaxConfig));
  if (program->ExitStatus() != 0) {
    return Error(StatusCode::kInvalidArgument, program->StderrTail());
  }
  OpensshConfig config;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    config.emplace(absl::AsciiStrToLower(line.substr(0, space)), line.substr(space + 1));
  }
  return config;
}

// Without what `ssh -G` also says if it succeeds.
std::string Reason(const std::string& said) {
  std::string reason;
  for (const std::string_view line : base::Lines(said)) {
    if (line.starts_with("Pseudo-terminal will not be allocated")) continue;
    reason.append(reason.empty() ? "" : "\n").append(line);
  }
  return reason;
}

Result<OpensshConfig> AskSsh(const OpensshQuery& query, const std::vector<std::string>& options,
                             const transport::Cause& failure) {
  auto config = AskSsh(QueryArgv(query, options, /*plainly=*/true));
  if (config.status().code() == StatusCode::kDeadlineExceeded) {
    return CauseError(cause::kConfigHangs,
                      {{"{node}", query.host}, {"{said}", Message(config.status())}});
  }
  if (config.status().code() != StatusCode::kInvalidArgument) return config;
  const std::string said = Message(config.status());
  AD_RETURN_IF_ERROR(transport::ConfigurationError(said));
  auto with_command = AskSsh(QueryArgv(query, options, /*plainly=*/false));
  if (with_command.ok()) return with_command;
  return CauseError(failure, {{"{node}", query.host}, {"{said}", Reason(said)}});
}

// An agent of "$NAME" means the variable with the path of the socket.
void ReadAgentVariable(OpensshConfig& config) {
  const auto agent = config.find("identityagent");
  if (agent == config.end() || !agent->second.starts_with('$')) return;
  const char* const socket = std::getenv(agent->second.c_str() + 1);
  agent->second = socket && *socket ? socket : "none";
}

constexpr int kExitOfSshItself = 255;
constexpr int kExitNotFound = 127;
constexpr char kEnv[] = "/usr/bin/env";

// Converts to a value of StrictHostKeyChecking.
const char* StrictHostKeyChecking(v1::HostKeyCheck check) {
  if (check == v1::HOST_KEY_CHECK_OFF) return "no";
  return check == v1::HOST_KEY_CHECK_ACCEPT_NEW ? "accept-new" : "yes";
}

// Settings for interactive use that must not apply to the `ssh` of the agent. Releases before 8.7
// reject these options.
constexpr const char* kNewerKeywords[] = {"ForkAfterAuthentication", "SessionType", "StdinNull"};
constexpr const char* kTheirDefaults[] = {"no", "default", "no"};

void AddNewerOptions(std::vector<std::string>& options) {
  const auto& known = OpensshDefaults();
  if (!known.ok()) return;
  for (size_t i = 0; i < std::size(kNewerKeywords); ++i) {
    if (!known->contains(absl::AsciiStrToLower(kNewerKeywords[i]))) continue;
    options.push_back(std::string(kNewerKeywords[i]) + "=" + kTheirDefaults[i]);
  }
}

constexpr const char* kCommonOptions[] = {"BatchMode=yes", "ServerAliveInterval=5",
                                          "ServerAliveCountMax=3", "ForwardAgent=no",
                                          "ForwardX11=no"};

struct LastJump {
  std::string before;  // the jump hosts that lead to it
  std::string host;    // also "user@host"
  std::string port;
};

// Splits up ProxyJump's "user@host:port,...", with an IPv6 address in brackets; ssh needs the port
// separately.
LastJump LastJumpOf(const std::string& jumps) {
  const size_t comma = jumps.rfind(',');
  LastJump jump{comma == std::string::npos ? "" : jumps.substr(0, comma), jumps.substr(comma + 1),
                ""};
  constexpr std::string_view kScheme = "ssh://";
  if (jump.host.starts_with(kScheme)) jump.host.erase(0, kScheme.size());
  const size_t bracket = jump.host.find(']');
  const size_t colon = jump.host.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos) jump.port = jump.host.substr(colon + 1);
  jump.host.resize(std::min(colon, jump.host.size()));
  std::erase_if(jump.host, [](char c) { return c == '[' || c == ']'; });
  return jump;
}

// `ssh` runs a ProxyCommand through a shell, so it consists of constants; text of the user is
// passed in variables. Unlike -J it offers the node's key files to the jump host, too.
std::string ProxyCommand(const v1::SshReach& reach, std::vector<std::string>& variables) {
  std::string command = "ssh -W \"[%h]:%p\"";
  for (const char* option : kCommonOptions) command += std::string(" -o ") + option;
  const auto add = [&](const char* flag, const char* name, const std::string& value) {
    if (value.empty()) return;
    variables.push_back(std::string(name) + "=" + value);
    command += std::string(" ") + flag + "\"$" + name + "\"";
  };
  const LastJump jump = LastJumpOf(reach.proxy_jump());
  if (reach.key_file_required()) add("-i ", "AUTODIST_JUMP_KEY", reach.key_files(0));
  add("-J ", "AUTODIST_JUMP_BEFORE", jump.before);
  add("-p ", "AUTODIST_JUMP_PORT", jump.port);
  add("-o StrictHostKeyChecking=", "AUTODIST_JUMP_CHECK",
      StrictHostKeyChecking(reach.host_key_check()));
  add("-- ", "AUTODIST_JUMP_HOST", jump.host);
  return command;
}

// Prints the keys in known_hosts format; `ssh` (8.5 or newer) runs it without a shell, with %H for
// the host. Keys contain no special characters.
std::string HostKeysCommand(const v1::SshReach& reach) {
  std::string command = "/usr/bin/printf \"%%s %%s %%s\\\\n\"";
  for (const std::string& key : reach.host_keys()) command += " %H " + key;
  return command;
}

// Adds what a login to the node needs, but for the key file, user and port.
void AddLogin(const v1::SshReach& reach, std::vector<std::string>& options,
              std::vector<std::string>& variables) {
  if (!reach.ssh_address().empty()) options.push_back("HostName=" + reach.ssh_address());
  if (reach.host_keys_size() > 0) {
    options.insert(options.end(), {"KnownHostsCommand=" + HostKeysCommand(reach),
                                   "UserKnownHostsFile=none", "GlobalKnownHostsFile=none"});
  }
  if (reach.proxy_jump() == "none") {
    options.emplace_back("ProxyJump=none");
  } else if (!reach.proxy_jump().empty()) {
    options.push_back("ProxyCommand=" + ProxyCommand(reach, variables));
  }
  if (reach.key_file_required()) options.emplace_back("IdentitiesOnly=yes");
}

class SshProgramStream final : public transport::Stream {
 public:
  SshProgramStream(std::unique_ptr<transport::ProgramStream> program, std::string where,
                   transport::Login login, bool pinned)
      : program_(std::move(program)),
        where_(std::move(where)),
        login_(std::move(login)),
        pinned_(pinned) {}

  base::UniqueFd TakeSocket() override { return program_->TakeSocket(); }
  std::string StderrTail() const override { return program_->StderrTail(); }
  bool WaitClosed(base::Deadline deadline) override { return program_->WaitClosed(deadline); }
  Status Failure() const override {
    const std::optional<int> status = program_->ExitStatus();
    std::string said = program_->StderrTail();
    if (status == kExitNotFound && said.starts_with(std::string(kEnv) + ": ")) {
      const char* const path = std::getenv("PATH");
      return Annotate(CauseError(cause::kNoSshProgram, {{"{path}", path ? path : "unset"}}),
                      where_);
    }
    if (status != kExitOfSshItself) return OkStatus();
    while (said.ends_with('\n') || said.ends_with('\r')) said.pop_back();
    return Annotate(transport::WithLogin(SshProgramError(said, where_, pinned_), login_), where_);
  }
  bool logged_in() const override { return false; }  // ssh does not report it
  transport::Login login() const override { return login_; }

 private:
  const std::unique_ptr<transport::ProgramStream> program_;
  const std::string where_;
  const transport::Login login_;
  const bool pinned_;
};

}  // namespace

std::string ValueOf(const OpensshConfig& config, const std::string& keyword) {
  const auto found = config.find(keyword);
  return found == config.end() || found->second == "none" ? "" : found->second;
}

bool OpensshConfigMatters(const std::string& home,
                          const std::function<bool(const std::string&)>& matters) {
  if (HasKeyword(home + "/.ssh/config", false, matters)) return true;
  if (HasKeyword("/etc/ssh/ssh_config", true, matters)) return true;
  glob_t found{};
  bool has = false;
  if (glob("/etc/ssh/ssh_config.d/*.conf", 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) has |= HasKeyword(found.gl_pathv[i], true, matters);
  }
  globfree(&found);
  return has;
}

Result<OpensshConfig> QueryOpensshConfig(const OpensshQuery& query) {
  AD_ASSIGN_OR_RETURN(OpensshConfig config, AskSsh(query, {}, cause::kConfigFails));
  // `ssh -G` has already expanded other file names.
  for (const char* keyword : {"identityfile", "certificatefile"}) {
    const auto [first, last] = config.equal_range(keyword);
    for (auto file = first; file != last; ++file) {
      const std::string& name = file->second;
      const bool other_home = name.starts_with('~') && !name.starts_with("~/");
      if (name.find_first_of("%$") == std::string::npos && !other_home) continue;
      auto expanded = ExpandByOpenssh(query, name);
      if (!expanded.ok()) return Annotate(expanded.status(), std::string(keyword) + " " + name);
      file->second = *std::move(expanded);
    }
  }
  ReadAgentVariable(config);
  return config;
}

const Result<OpensshConfig>& OpensshDefaults() {
  static const Result<OpensshConfig> defaults =
      AskSsh({"ssh", "-G", "-F", "/dev/null", "--", "localhost"});
  return defaults;
}

// `ssh -G` prints the names of keys unexpanded, but expands ControlPath, which has the same tokens.
Result<std::string> ExpandByOpenssh(const OpensshQuery& query, const std::string& text) {
  AD_ASSIGN_OR_RETURN(const OpensshConfig config,
                      AskSsh(query, {"-o", "ControlPath=" + InQuotes(text)}, cause::kNotExpanded));
  const auto expanded = config.find("controlpath");
  if (expanded != config.end()) return expanded->second;
  return Error(StatusCode::kInternal, "`ssh -G` does not replace its tokens");
}

bool HasControlConnection(const OpensshConfig& config) {
  const std::string path = ValueOf(config, "controlpath");
  const sockaddr_un address = base::UnixAddress(path);
  if (path.empty() || address.sun_path != path) return false;
  const base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket.valid() &&
         connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

std::vector<std::string> SshProgramArgv(const v1::SshReach& reach, const SshUse& use) {
  std::vector<std::string> line = {kEnv};
  std::vector<std::string> options(std::begin(kCommonOptions), std::end(kCommonOptions));
  const uint32_t seconds = (reach.connect_limit_ms() + 999) / 1000;
  options.insert(options.end(),
                 {"ConnectTimeout=" + std::to_string(seconds), "RemoteCommand=none",
                  std::string("RequestTTY=") + (use.terminal ? "force" : "no"), "ControlMaster=no",
                  "PermitLocalCommand=no", "LogLevel=INFO",
                  use.forward.empty() ? "ClearAllForwardings=yes" : "ExitOnForwardFailure=yes"});
  AddNewerOptions(options);
  options.push_back(std::string("StrictHostKeyChecking=") +
                    StrictHostKeyChecking(reach.host_key_check()));
  AddLogin(reach, options, line);
  line.emplace_back("ssh");
  if (!use.forward.empty()) line.insert(line.end(), {"-L", use.forward});
  for (const std::string& option : options) line.insert(line.end(), {"-o", option});
  if (reach.key_file_required()) line.insert(line.end(), {"-i", reach.key_files(0)});
  if (!reach.username().empty()) line.insert(line.end(), {"-l", reach.username()});
  line.insert(line.end(), {"-p", std::to_string(reach.port()), "--", reach.host(), use.command});
  return line;
}

transport::Login LoginTo(const v1::SshReach& reach) {
  constexpr uint32_t kUsualPort = 22;
  const std::string& jumps = reach.proxy_jump();
  std::vector<std::string> key;
  if (reach.key_file_required()) key = {"-i", reach.key_files(0)};
  std::vector<std::string> line = key;
  if (!reach.ssh_address().empty()) {
    line.insert(line.end(), {"-o", "HostName=" + reach.ssh_address()});
  }
  if (!jumps.empty()) line.insert(line.end(), {"-J", jumps});
  if (reach.port() != kUsualPort) line.insert(line.end(), {"-p", std::to_string(reach.port())});
  line.push_back((reach.username().empty() ? "" : reach.username() + "@") + reach.host());
  transport::Login login{reach.host(), base::ShellLine(line), base::ShellQuote(reach.username()),
                         "the login to its jump host", "ProxyCommand in ~/.ssh/config"};
  login.target = (!reach.ssh_address().empty()            ? reach.ssh_address()
                  : !reach.configured_host_name().empty() ? reach.configured_host_name()
                                                          : reach.host()) +
                 " at port " + std::to_string(reach.port());
  const bool of_spec = !jumps.empty() && jumps != "none";
  const LastJump jump = LastJumpOf(of_spec ? jumps : reach.configured_jump());
  if (jump.host.empty()) return login;
  std::vector<std::string> to_jump = {"ssh"};
  if (of_spec) to_jump.insert(to_jump.end(), key.begin(), key.end());
  if (!jump.before.empty()) to_jump.insert(to_jump.end(), {"-J", jump.before});
  if (!jump.port.empty()) to_jump.insert(to_jump.end(), {"-p", jump.port});
  to_jump.insert(to_jump.end(), {jump.host, "true"});
  login.jump = "`" + base::ShellLine(to_jump) + "`";
  login.jump_from =
      of_spec ? base::ForUser("[spec|proxy_jump in the spec][hosts,init|the list of hosts]")
              : "ProxyJump in ~/.ssh/config";
  return login;
}

std::vector<std::string> ScpArgv(const v1::SshReach& reach) {
  constexpr uint32_t kUsualPort = 22;
  std::vector<std::string> line = {"env"};
  std::vector<std::string> options;
  if (reach.host_key_check() != v1::HOST_KEY_CHECK_STRICT) {
    options.push_back(std::string("StrictHostKeyChecking=") +
                      StrictHostKeyChecking(reach.host_key_check()));
  }
  AddLogin(reach, options, line);
  if (line.size() == 1) line.clear();  // no variables
  line.insert(line.end(), {"scp", "-r"});
  for (const std::string& option : options) line.insert(line.end(), {"-o", option});
  if (reach.key_file_required()) line.insert(line.end(), {"-i", reach.key_files(0)});
  if (reach.port() != kUsualPort) line.insert(line.end(), {"-P", std::to_string(reach.port())});
  const bool ipv6 = reach.host().find(':') != std::string::npos;
  line.push_back((reach.username().empty() ? "" : reach.username() + "@") +
                 (ipv6 ? "[" + reach.host() + "]" : reach.host()) + ":");
  return line;
}

Result<std::unique_ptr<transport::Stream>> SshProgramTransport::Run(
    const std::vector<std::string>& argv, const std::stop_token& stop) {
  if (stop.stop_requested()) return Error(StatusCode::kCancelled, "cancelled");
  AD_ASSIGN_OR_RETURN(auto program, transport::StartOurProgram(SshProgramArgv(
                                        reach_, {.command = "exec " + base::ShellLine(argv)})));
  const std::string& jumps = reach_.proxy_jump();
  return std::make_unique<SshProgramStream>(
      std::move(program),
      reach_.host() + (jumps.empty() || jumps == "none" ? "" : " through " + jumps),
      LoginTo(reach_), reach_.host_keys_size() > 0);
}

}  // namespace autodist::ssh
