// The subcommands. Each adds its options to the command line; the function it returns runs it and
// gives the process exit code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/app.h"

namespace autodist::cli {

using Command = std::function<int()>;

// `program` is what stands after "--".
Command AddRun(CLI::App& app, const std::vector<std::string>& program);
// The same of a v1::JobRequest in a file.
Command AddRunRequest(CLI::App& app);
Command AddSubmit(CLI::App& app, const std::vector<std::string>& program);
Command AddDoctor(CLI::App& app, const std::vector<std::string>& program);
Command AddBench(CLI::App& app);
Command AddValidate(CLI::App& app);
Command AddInit(CLI::App& app);
Command AddPs(CLI::App& app);
Command AddStatus(CLI::App& app);
Command AddTop(CLI::App& app);
Command AddLogs(CLI::App& app);
Command AddWeb(CLI::App& app);
Command AddAttach(CLI::App& app);
Command AddStacks(CLI::App& app);
Command AddWhy(CLI::App& app);
Command AddReport(CLI::App& app);
Command AddFetch(CLI::App& app);
Command AddStop(CLI::App& app);
Command AddClean(CLI::App& app);
Command AddPrune(CLI::App& app);
Command AddDialects(CLI::App& app);
Command AddCompletion(CLI::App& app);
// What the scripts of AddCompletion ask for; `words`: after "--", those of the command line.
Command AddComplete(CLI::App& app, const std::vector<std::string>& words);
Command AddMan(CLI::App& app);

// Says what failed and gives the exit code back, to be returned.
inline int Fail(const Status& status, int exit_code) {
  base::LogFailure(status);
  return exit_code;
}

}  // namespace autodist::cli
