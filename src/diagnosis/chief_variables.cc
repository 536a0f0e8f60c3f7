#include "diagnosis/chief_variables.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/a_few_of.h"
#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

constexpr size_t kMaxNames = 512;
constexpr size_t kMaxNameLength = 128;

// A '*' at the beginning or end matches any text.
bool Fits(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  return name == pattern;
}

template <typename Patterns>
bool FitsAny(std::string_view name, const Patterns& patterns) {
  return std::ranges::any_of(patterns, [&](const char* it) { return Fits(name, it); });
}

// Variables of the session or the machine, or set by python_venv.
constexpr const char* kOfSession[] = {"_",
                                      "HOME",
                                      "USER",
                                      "LOGNAME",
                                      "SHELL",
                                      "PATH",
                                      "LANG",
                                      "LANGUAGE",
                                      "LC_*",
                                      "PWD",
                                      "OLDPWD",
                                      "SHLVL",
                                      "TERM",
                                      "TERM_*",
                                      "COLORTERM",
                                      "COLUMNS",
                                      "LINES",
                                      "DISPLAY",
                                      "XAUTHORITY",
                                      "WAYLAND_*",
                                      "XDG_*",
                                      "DBUS_*",
                                      "SSH_*",
                                      "GPG_*",
                                      "MAIL",
                                      "EDITOR",
                                      "VISUAL",
                                      "PAGER",
                                      "LESS*",
                                      "LS_COLORS",
                                      "PS0",
                                      "PS1",
                                      "PS2",
                                      "PS3",
                                      "PS4",
                                      "PROMPT_*",
                                      "HIST*",
                                      "HOSTNAME",
                                      "HOST",
                                      "BASH*",
                                      "ZSH*",
                                      "FPATH",
                                      "VSCODE_*",
                                      "TMUX*",
                                      "STY",
                                      "WINDOW*",
                                      "SLURM_*",
                                      "SLURMD_*",
                                      "SUDO_*",
                                      "VIRTUAL_ENV*",
                                      "CONDA_*",
                                      "_CE_*",
                                      "PYENV_*",
                                      "NVM_*",
                                      "MODULES*",
                                      "LMOD_*",
                                      "LOADEDMODULES",
                                      "_LM*",
                                      "_ModuleTable*",
                                      "MANPATH",
                                      "INFOPATH",
                                      "KUBERNETES_*",
                                      "TMPDIR",
                                      "OPTIND",
                                      "ENV",
                                      "JOURNAL_STREAM",
                                      "INVOCATION_ID",
                                      "container"};

// Set by autodist for each rank.
constexpr const char* kOfAutodist[] = {"AUTODIST_*", "CUDA_VISIBLE_DEVICES",
                                       "RANK",       "WORLD_SIZE",
                                       "LOCAL_*",    "NODE_RANK",
                                       "GROUP_*",    "ROLE_*",
                                       "MASTER_*",   "TORCHELASTIC_*",
                                       "PMIX_*",     "OMPI_*",
                                       "PMI_*",      "PADDLE_*",
                                       "TF_CONFIG"};

constexpr const char* kSecrets[] = {
    "*_TOKEN",    "*_API_KEY", "*_SECRET",      "*_SECRET_KEY", "*_ACCESS_KEY", "*_ACCESS_KEY_ID",
    "*_PASSWORD", "*_KEY",     "*_CREDENTIALS", "*_PAT",        "AWS_PROFILE",  "NETRC"};
constexpr const char* kWays[] = {
    "*_PROXY",        "*_proxy",    "SSL_CERT_*",     "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE", "*_ENDPOINT", "*_ENDPOINT_URL", "*_BASE_URL"};
constexpr const char* kOfPython[] = {"PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE"};
constexpr const char* kLibraries[] = {"LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_HOME", "CUDA_PATH"};
constexpr const char* kProxies[] = {"*_PROXY", "*_proxy"};

// Lower-case texts of failures that missing variables cause. None is part of the text of another
// failure, such as "401" of a line number, or "login" of the name of a function.
constexpr const char* kCredentialFailures[] = {
    "401 client error",   "403 client error", "401 unauthorized",  "error 401",
    "error 403",          "status code 401",  "status code 403",   "unauthorized",
    "forbidden",          "is restricted",    "gated repo",        "gatedrepo",
    "repositorynotfound", "api key",          "api_key",           "api token",
    "access token",       "auth token",       "token is required", "provide a token",
    "pass a token",       "credential",       "authenticat",       "logged in",
    "please log in",      "cli login",        "wandb login",       "wandb.login",
    "access denied",      "accessdenied"};
constexpr const char* kNetworkFailures[] = {
    "proxyerror",         "to proxy",         "proxy authentication",
    "outgoing traffic",   "offline mode",     "max retries",
    "connectionerror",    "connection error", "connecttimeout",
    "connect timeout",    "read timed out",   "request timed out",
    "network is unreach", "resolve host",     "failed to resolve",
    "name resolution",    "name or service",  "couldn't connect",
    "certificate",        "sslerror",         "[ssl"};
constexpr const char* kModuleFailures[] = {"modulenotfounderror", "no module named",
                                           "cannot import name"};
constexpr const char* kLibraryFailures[] = {"cannot open shared object", "undefined symbol",
                                            "cuda_home"};

template <typename Phrases>
bool SaysAny(const std::string& lower, const Phrases& phrases) {
  return std::ranges::any_of(
      phrases, [&](const char* phrase) { return lower.find(phrase) != std::string::npos; });
}

bool InWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool HasWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !InWord(text[at - 1])) && (end == text.size() || !InWord(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> NamesToCompare(const std::vector<std::string>& names) {
  std::vector<std::string> compared;
  std::ranges::copy_if(names, std::back_inserter(compared), [](const std::string& name) {
    return !name.empty() && name.size() <= kMaxNameLength && std::ranges::all_of(name, InWord) &&
           !FitsAny(name, kOfSession) && !FitsAny(name, kOfAutodist);
  });
  std::ranges::sort(compared);
  if (compared.size() > kMaxNames) compared.resize(kMaxNames);
  return compared;
}

std::vector<std::string> NamesIn(std::string_view text, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  std::ranges::copy_if(names, std::back_inserter(found),
                       [&](const std::string& name) { return HasWord(text, name); });
  return found;
}

std::vector<std::string> LikelyMissed(std::string_view reason, std::string_view wrote,
                                      const std::vector<std::string>& names) {
  std::vector<std::string> mentioned = NamesIn(wrote, names);
  if (!mentioned.empty()) return mentioned;
  const std::string lower = absl::AsciiStrToLower(std::string(reason));
  const bool secret = SaysAny(lower, kCredentialFailures);
  const bool way = SaysAny(lower, kNetworkFailures);
  const bool module = SaysAny(lower, kModuleFailures);
  const bool library = SaysAny(lower, kLibraryFailures);
  const auto is_likely = [&](const std::string& name) {
    return (secret && FitsAny(name, kSecrets)) || (way && FitsAny(name, kWays)) ||
           (module && FitsAny(name, kOfPython)) || (library && FitsAny(name, kLibraries));
  };
  std::vector<std::string> likely;
  std::ranges::copy_if(names, std::back_inserter(likely), is_likely);
  // A proxy also decides whether a service is reachable.
  std::ranges::copy_if(names, std::back_inserter(likely), [&](const std::string& name) {
    return secret && !is_likely(name) && FitsAny(name, kProxies);
  });
  return likely;
}

void CheckChiefVariables(const Evidence& evidence, IssueList& issues) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    if (PlanOf(evidence, node).reach().has_local()) continue;
    const auto& facts = FactsOf(evidence, node).missing_variables();
    std::vector<std::string> missing;
    std::ranges::copy_if(
        evidence.mentioned_variables, std::back_inserter(missing),
        [&](const std::string& name) { return std::ranges::count(facts, name) > 0; });
    if (missing.empty()) continue;
    issues.Warn(v1::CHECK_VARIABLES, node,
                "ranks there do not get " + base::AFewOf(missing) + ", which the shell of " +
                    Here(evidence) + " has and the program mentions",
                "if all nodes need it: --pass-env " + missing.front());
  }
}

}  // namespace autodist::diagnosis
