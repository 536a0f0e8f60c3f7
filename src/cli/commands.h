// The subcommands. Each Add function adds the options of a command to the command line and returns
// a function that runs the command and returns the exit code of the process.
#pragma once

#include <cerrno>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "base/exit_codes.h"
#include "base/log.h"
#include "base/write_file.h"
#include "cli/app.h"

namespace autodist::cli {

using Command = std::function<int()>;

// A command about one job, which it does not look up itself: see ForJob (cli/chief_on.h).
struct JobCommand {
  std::function<int(const v1::JobStatus& job)> run;
  std::function<void()> before_threads = {};  // called before there are other threads
  bool acts = false;  // changes the job, so that a job of another folder has to be named
  // Called before the job is looked up. An exit code: the options ask for no single job.
  std::function<std::optional<int>()> without_job = {};
};

// `program`: the user's program and its arguments.
Command AddRun(CLI::App& app, const std::vector<std::string>& program);
// Runs a v1::JobRequest from a file.
Command AddRunRequest(CLI::App& app);
Command AddSubmit(CLI::App& app, const std::vector<std::string>& program);
Command AddDoctor(CLI::App& app, const std::vector<std::string>& program);
Command AddBench(CLI::App& app);
Command AddValidate(CLI::App& app);
Command AddInit(CLI::App& app);
Command AddPs(CLI::App& app);
JobCommand AddStatus(CLI::App& app);
JobCommand AddTop(CLI::App& app);
JobCommand AddLogs(CLI::App& app);
Command AddWeb(CLI::App& app);
JobCommand AddAttach(CLI::App& app);
JobCommand AddStacks(CLI::App& app);
JobCommand AddWhy(CLI::App& app);
JobCommand AddReport(CLI::App& app);
Command AddFetch(CLI::App& app);
JobCommand AddStop(CLI::App& app);
Command AddClean(CLI::App& app);
Command AddNodesCommand(CLI::App& app);
Command AddPrune(CLI::App& app);
Command AddFrameworks(CLI::App& app);
Command AddCompletion(CLI::App& app);
// Serves the scripts of AddCompletion. `words`: the command line to complete, which follows "--".
Command AddComplete(CLI::App& app, const std::vector<std::string>& words);
Command AddLicenses(CLI::App& app);
Command AddMan(CLI::App& app);
Command AddHelp(CLI::App& app);

// Logs the failure and returns the exit code.
inline int Fail(const Status& status, int exit_code) {
  base::LogFailure(status);
  return exit_code;
}

// For --output and --force: adds a hint if the file already exists.
inline Status RefuseToOverwrite(const Status& status) {
  if (status.code() != StatusCode::kAlreadyExists) return status;
  return WithRemedy(status, "give another name, or --force to replace it");
}

// Writes to the file, or to stdout if the name is empty.
inline Status WriteOutput(const std::string& file, const std::string& text, bool force) {
  if (!file.empty()) {
    return RefuseToOverwrite(
        base::WriteFile(file, text, force ? base::IfExists::kReplace : base::IfExists::kRefuse));
  }
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return OkStatus();
  return ErrnoError(errno, "writing to standard output");
}

}  // namespace autodist::cli
