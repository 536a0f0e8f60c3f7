// autodist completion SHELL
#include <algorithm>
#include <cstdio>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/job_text.h"
#include "cli/values.h"
#include "control/jobs.h"

namespace autodist::cli {
namespace {

constexpr size_t kMaxJobs = 100;

// Ids and names, the newest first.
std::vector<Completion::Word> Jobs() {
  const std::vector<v1::JobStatus> jobs = control::ListJobs();
  std::vector<Completion::Word> words;
  for (auto job = jobs.rbegin(); job != jobs.rend() && words.size() < kMaxJobs; ++job) {
    const std::string state = StateText(*job);
    words.push_back({job->job_id(), state});
    if (!job->name().empty()) words.push_back({base::Printable(job->name()), state});
  }
  return words;
}

// Names of Completion::Kind, as the scripts expect them.
constexpr const char* kKindNames[] = {"words", "files", "folders", "variables", "program"};

// Prints the kind in the first line, then one line per word: the word, a tab, its description.
int Complete(const CLI::App& app, const std::vector<std::string>& words) {
  const Completion completion = CompletionOf(TreeOf(app), words, Jobs);
  const bool program = completion.kind == Completion::Kind::kProgram;
  std::printf("%s%s\n", kKindNames[static_cast<size_t>(completion.kind)],
              program ? (" " + std::to_string(completion.program)).c_str() : "");
  for (const Completion::Word& word : completion.words) {
    std::printf("%s\t%s\n", word.text.c_str(), word.about.c_str());
  }
  return 0;
}

int PrintScript(const std::string& shell) {
  const auto script =
      std::ranges::find(CompletionScripts(), "autodist." + shell, &base::EmbeddedFile::name);
  std::fwrite(script->content.data(), 1, script->content.size(), stdout);
  return 0;
}

}  // namespace

Command AddCompletion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->check(OneOf({"bash", "zsh", "fish"}))
      ->required();
  app.footer(R"(
Prints a shell script that completes commands, options, their values and the
names of jobs. Packages install it. Otherwise add one line to the shell's startup
file:

Examples:
  source <(autodist completion bash)             ~/.bashrc
  source <(autodist completion zsh)              ~/.zshrc, after compinit
  autodist completion fish | source              ~/.config/fish/config.fish)");
  return [shell] { return PrintScript(*shell); };
}

Command AddComplete(CLI::App& app, const std::vector<std::string>& words) {
  app.allow_extras();  // for ReadCommandLine: the words follow "--"
  return [&app, &words] { return Complete(*app.get_parent(), words); };
}

}  // namespace autodist::cli
