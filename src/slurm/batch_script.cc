#include "slurm/batch_script.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <optional>

#include "base/shell_quote.h"

namespace autodist::slurm {
namespace {

// Returns the last value of a long option of sbatch, which may be abbreviated; nullopt: not given.
std::optional<std::string> ValueOf(const std::string& option,
                                   const std::vector<std::string>& given) {
  constexpr size_t kMinLength = 4;  // "--ou": unambiguous for all options that are looked up here
  std::optional<std::string> value;
  for (const std::string& word : given) {
    const std::string name = word.substr(0, word.find('='));
    if (name.size() < kMinLength || !option.starts_with(name)) continue;
    value = word.substr(std::min(word.size(), name.size() + 1));
  }
  return value;
}

// Replaces "%j"; nullopt: sbatch replaces something else, or takes the name for no file.
std::optional<std::string> FileOf(const std::string& pattern, const std::string& number) {
  const std::string file = absl::StrReplaceAll(pattern, {{"%j", number}});
  const bool known = !file.empty() && file.find('%') == std::string::npos && file != "none";
  return known ? std::optional(file) : std::nullopt;
}

}  // namespace

std::string WhereItWrites(const SlurmRequest& request, const std::string& number,
                          const std::function<const char*(const char*)>& variable) {
  for (const char* name : {"SBATCH_OUTPUT", "SBATCH_ERROR", "SBATCH_ARRAY_INX"}) {
    if (variable(name)) return "";
  }
  if (ValueOf("--array", request.others)) return "";
  const auto out = FileOf(ValueOf("--output", request.others).value_or("slurm-%j.out"), number);
  const auto error = ValueOf("--error", request.others);
  const auto err = error ? FileOf(*error, number) : out;
  if (!out || !err) return "";
  const bool absolute = out->starts_with('/') && err->starts_with('/');
  if (!absolute && ValueOf("--chdir", request.others)) return "";
  return (*err == *out ? "output in " + *out : "stdout in " + *out + " and stderr in " + *err) +
         (out->starts_with('/') || err->starts_with('/') ? "" : " in this folder");
}

std::string SlurmScript(const SlurmRequest& request, const std::string& autodist,
                        const std::string& job) {
  std::string script = "#!/bin/sh\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) script += "#SBATCH --" + name + "=" + value + "\n";
  };
  add("job-name", request.name.empty() ? "autodist" : request.name);
  add("nodes", std::to_string(request.nodes));
  add("ntasks-per-node", std::to_string(std::max(request.ranks, 1U)));
  add("gpus-per-node", request.gpus);
  add("time", request.time);
  add("partition", request.partition);
  add("account", request.account);
  add("signal", request.signal.empty() ? "" : "B:" + request.signal);
  for (const std::string& word : request.others) script += "#SBATCH " + word + "\n";
  // exec: Slurm only signals the script's process. No line of JSON equals the final END.
  return script + "exec " + base::ShellQuote(autodist) + " run-request /dev/stdin <<'END'\n" + job +
         "END\n";
}

}  // namespace autodist::slurm
