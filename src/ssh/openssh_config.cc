#include "ssh/openssh_config.h"

#include <absl/strings/ascii.h>

#include <glob.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/fd.h"
#include "base/unix_socket.h"
#include "transport/local.h"

namespace autodist::ssh {
namespace {

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

Result<OpensshConfig> AskSsh(const OpensshQuery& query, const std::vector<std::string>& options) {
  auto config = AskSsh(QueryArgv(query, options, /*plainly=*/true));
  if (config.status().code() != StatusCode::kInvalidArgument) return config;
  auto with_command = AskSsh(QueryArgv(query, options, /*plainly=*/false));
  if (with_command.ok()) return with_command;
  return WithRemedy(Error(StatusCode::kInvalidArgument,
                          "`ssh -G " + query.host + "` fails:\n" + Message(config.status())),
                    "correct ~/.ssh/config");
}

// An agent of "$NAME" means the variable with the path of the socket.
void ReadAgentVariable(OpensshConfig& config) {
  const auto agent = config.find("identityagent");
  if (agent == config.end() || !agent->second.starts_with('$')) return;
  const char* const socket = std::getenv(agent->second.c_str() + 1);
  agent->second = socket && *socket ? socket : "none";
}

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
  AD_ASSIGN_OR_RETURN(OpensshConfig config, AskSsh(query, {}));
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
                      AskSsh(query, {"-o", "ControlPath=" + InQuotes(text)}));
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

}  // namespace autodist::ssh
