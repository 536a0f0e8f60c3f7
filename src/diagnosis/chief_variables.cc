#include "diagnosis/chief_variables.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "diagnosis/findings.h"

namespace autodist::diagnosis {
namespace {

constexpr size_t kMostNames = 512;
constexpr size_t kLongestName = 128;
constexpr size_t kMostShown = 4;

// A '*' at the beginning or the end stands for any text.
bool Fits(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  return name == pattern;
}

template <typename Patterns>
bool FitsAny(std::string_view name, const Patterns& patterns) {
  return std::ranges::any_of(patterns, [&](const char* it) { return Fits(name, it); });
}

// Of the session, the machine, or an environment that python_venv makes.
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

// Set by autodist, for each rank.
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
constexpr const char* kOthers[] = {
    "HF_*",      "HUGGING*",  "TRANSFORMERS_*", "DATASETS_*", "WANDB_*",  "MLFLOW_*", "COMET_*",
    "NEPTUNE_*", "CLEARML_*", "AWS_*",          "AZURE_*",    "GOOGLE_*", "S3_*",     "KAGGLE_*",
    "NGC_*",     "OPENAI_*",  "NCCL_*",         "GLOO_*",     "UCX_*",    "FI_*",     "CUDA_*",
    "CUDNN_*",   "CUBLAS_*",  "TORCH_*",        "PYTORCH_*",  "TF_*",     "XLA_*",    "JAX_*",
    "TRITON_*",  "DS_*",      "DEEPSPEED_*",    "HYDRA_*",    "OMP_*",    "MKL_*",    "DATA_DIR",
    "DATA_ROOT", "DATA_PATH", "DATASET*"};

// What a failure that such variables lead to says, in small letters.
constexpr const char* kSaidWithoutSecret[] = {
    "401",     "403",     "unauthorized", "forbidden",     "token",
    "api key", "api_key", "credential",   "restricted",    "gated",
    "log in",  "login",   "authenticat",  "access denied", "permission"};
constexpr const char* kSaidWithoutWay[] = {"proxy",           "max retries", "connection",
                                           "timed out",       "unreachable", "resolve",
                                           "name or service", "certificate", "ssl"};
constexpr const char* kSaidWithoutModule[] = {"modulenotfounderror", "importerror",
                                              "no module named"};
constexpr const char* kSaidWithoutLibrary[] = {"shared object", "cuda_home", "libcu", ".so"};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

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
    return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, InWord) &&
           !FitsAny(name, kOfSession) && !FitsAny(name, kOfAutodist);
  });
  std::ranges::sort(compared);
  if (compared.size() > kMostNames) compared.resize(kMostNames);
  return compared;
}

bool IsWellKnown(std::string_view name) {
  return FitsAny(name, kSecrets) || FitsAny(name, kWays) || FitsAny(name, kOfPython) ||
         FitsAny(name, kLibraries) || FitsAny(name, kOthers);
}

std::vector<std::string> NamesIn(std::string_view text, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  std::ranges::copy_if(names, std::back_inserter(found),
                       [&](const std::string& name) { return HasWord(text, name); });
  return found;
}

std::vector<std::string> LikelyMissed(std::string_view wrote,
                                      const std::vector<std::string>& names) {
  const std::string lower = Lower(wrote);
  const bool secret = SaysAny(lower, kSaidWithoutSecret);
  const bool way = SaysAny(lower, kSaidWithoutWay);
  const bool module = SaysAny(lower, kSaidWithoutModule);
  const bool library = SaysAny(lower, kSaidWithoutLibrary);
  // The lower, the likelier; nullopt: it has nothing to do with it as far as is known.
  const auto place = [&](const std::string& name) {
    if (HasWord(wrote, name)) return 0;
    if ((secret && FitsAny(name, kSecrets)) || (way && FitsAny(name, kWays)) ||
        (module && FitsAny(name, kOfPython)) || (library && FitsAny(name, kLibraries))) {
      return 1;
    }
    return IsWellKnown(name) ? 2 : 3;
  };
  std::array<std::vector<std::string>, 3> likely;
  for (const std::string& name : names) {
    const int at = place(name);
    if (at < 3) likely[static_cast<size_t>(at)].push_back(name);
  }
  std::vector<std::string> all;
  for (const auto& some : likely) all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::string NamesAsText(const std::vector<std::string>& names) {
  std::string text;
  const bool all = names.size() <= kMostShown;
  const size_t shown = all ? names.size() : kMostShown;
  for (size_t i = 0; i < shown; ++i) {
    const bool last = all && i + 1 == shown && i > 0;
    text += (i == 0 ? "" : last ? " and " : ", ") + names[i];
  }
  return all ? text : text + " and " + std::to_string(names.size() - shown) + " more";
}

void CheckChiefVariables(const Evidence& evidence, Findings& findings) {
  if (!evidence.examination.thorough()) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    if (PlanOf(evidence, node).reach().has_local()) continue;
    const auto& facts = FactsOf(evidence, node).missing_variables();
    std::vector<std::string> missing;
    std::ranges::copy_if(
        evidence.mentioned_variables, std::back_inserter(missing),
        [&](const std::string& name) { return std::ranges::count(facts, name) > 0; });
    if (missing.empty()) continue;
    findings.Warn(v1::CHECK_VARIABLES, node,
                  "ranks there do not get " + NamesAsText(missing) + ", which the shell of " +
                      Here(evidence) + " has and the program mentions",
                  "where the program needs it on all nodes: --pass-env " + missing.front());
  }
}

}  // namespace autodist::diagnosis
