// autodist completion SHELL
#include <cstdio>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/job_text.h"
#include "cli/values.h"
#include "control/jobs.h"

namespace autodist::cli {
namespace {

constexpr size_t kMostJobs = 100;
constexpr size_t kLongestBrief = 72;

struct CompletionOptions {
  std::string shell;
  bool jobs = false;
};

// "ID<tab>STATE", the newest first, and the same of names.
void PrintJobs() {
  const std::vector<v1::JobStatus> jobs = control::ListJobs(/*all=*/true);
  size_t printed = 0;
  for (auto job = jobs.rbegin(); job != jobs.rend() && printed < kMostJobs; ++job, ++printed) {
    const std::string state = StateText(*job);
    std::printf("%s\t%s\n", job->job_id().c_str(), state.c_str());
    if (!job->name().empty())
      std::printf("%s\t%s\n", base::Printable(job->name()).c_str(), state.c_str());
  }
}

int Completion(const CLI::App& app, const CompletionOptions& options) {
  if (options.jobs) {
    PrintJobs();
    return 0;
  }
  if (options.shell.empty()) {
    return Fail(WithRemedy(Error(StatusCode::kInvalidArgument, "completion: of which shell?"),
                           "autodist completion bash, zsh or fish"),
                kExitUsage);
  }
  const CommandTree tree = TreeOf(app);
  const std::string script = options.shell == "bash"  ? BashCompletion(tree)
                             : options.shell == "zsh" ? ZshCompletion(tree)
                                                      : FishCompletion(tree);
  std::fputs(script.c_str(), stdout);
  return 0;
}

}  // namespace

std::string Brief(const std::string& text) {
  std::string brief = text.substr(0, text.find(';'));
  if (brief.size() <= kLongestBrief) return brief;
  brief.resize(brief.rfind(' ', kLongestBrief));
  return brief + " ...";
}

Command AddCompletion(CLI::App& app) {
  auto options = std::make_shared<CompletionOptions>();
  app.add_option("SHELL", options->shell, "bash, zsh or fish")
      ->check(OneOf({"bash", "zsh", "fish"}));
  app.add_flag("--jobs", options->jobs, "For the scripts: the jobs' ids and names")->group("");
  app.footer(R"(
Prints a script by which the shell completes commands, options, their values and the names of jobs.
Packages install it; by hand it is one line of the shell's start-up file.

Examples:
  source <(autodist completion bash)             in ~/.bashrc
  source <(autodist completion zsh)              in ~/.zshrc, after compinit
  autodist completion fish | source              in ~/.config/fish/config.fish)");
  return [options, &app] { return Completion(*app.get_parent(), *options); };
}

}  // namespace autodist::cli
