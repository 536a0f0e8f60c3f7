#include "cli/submit_slurm.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/help_text.h"
#include "transport/hand_over.h"

namespace autodist::cli {
namespace {

constexpr std::chrono::seconds kSubmitLimit{60};  // a busy slurmctld makes sbatch wait

// Rejects characters that would end or split the option in a line of the batch script.
CLI::Validator SbatchWord() {
  return {[](const std::string& text) -> std::string {
            const bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
              return std::isgraph(c) && c != '"' && c != '\'' && c != '\\' && c != '#';
            });
            return plain ? ""
                         : "'" + text +
                               "' cannot be used in a batch script: no spaces, quotes, # or \\";
          },
          ""};
}

CLI::Validator SbatchOption() {
  return {[](const std::string& text) -> std::string {
            if (text.starts_with("--") && text.size() > 2) return "";
            return "'" + text + "' is not an sbatch option, such as --constraint=a100";
          },
          ""};
}

}  // namespace

void AddSlurmOptions(CLI::App& app, slurm::SlurmRequest& request) {
  const auto add = [&](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->check(SbatchWord())->group(group::kSlurm);
  };
  add("--time", request.time, "Time limit of the job: 30 (minutes), 2:00:00, 1-12")
      ->type_name("TIME");
  add("--signal", request.signal,
      "Send a signal to all ranks before the time limit: USR1@120 is 120 s before")
      ->type_name("SIGNAL@SECONDS");
  add("--partition", request.partition, "Slurm partition")->type_name("PARTITION");
  add("--account", request.account, "Slurm account")->type_name("ACCOUNT");
  add("--sbatch", request.others,
      "Another option for sbatch, such as --constraint=a100; repeatable")
      ->check(SbatchOption())
      ->allow_extra_args(false)
      ->type_name("OPTION");
}

int SubmitToSlurm(const slurm::SlurmRequest& request, const std::string& job, bool print) {
  if (const std::string why = SbatchWord()(request.gpus); !request.gpus.empty() && !why.empty()) {
    return Fail(Error(StatusCode::kInvalidArgument, "--gpus-per-node: " + why), kExitUsage);
  }
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string script = slurm::SlurmScript(request, error ? "autodist" : self.string(), job);
  if (print) {
    std::fputs(script.c_str(), stdout);
    return 0;
  }
  const auto said = transport::HandOver({"sbatch", "--parsable"}, script, kSubmitLimit);
  if (!said.ok()) {
    return Fail(WithRemedy(Annotate(said.status(), "sbatch refused the script"),
                           "--print shows the script"),
                1);
  }
  const std::string number = base::Printable(said->substr(0, said->find_first_of(";\n")));
  base::Log(base::LogLevel::kInfo, "submitted as Slurm job " + number + "; output in slurm-" +
                                       number + ".out in this folder; squeue --jobs=" + number +
                                       " shows its state, scancel " + number + " ends it");
  std::printf("%s\n", number.c_str());
  return 0;
}

}  // namespace autodist::cli
