#include "agent/prepare/warm_python.h"

#include <span>
#include <string_view>
#include <utility>

#include "base/embedded_file.h"
#include "base/fd.h"
#include "base/write_file.h"
#include "process/python_command.h"

namespace autodist::agent {

std::span<const base::EmbeddedFile> PythonPrograms();

namespace {

// The records of the node's ranks; by position, because a spare has other ranks in each attempt.
std::string RecordOf(const std::string& folder, size_t position) {
  return folder + "/modules." + std::to_string(position);
}

Status WritePrivate(const std::string& path, std::string_view content) {
  return base::WriteFile(path, content, base::IfExists::kReplace, base::Readers::kOwner);
}

}  // namespace

Status MakeWarm(const std::string& folder, std::vector<RankCommand>& ranks) {
  const base::EmbeddedFile& program = PythonPrograms().front();
  const std::string path = folder + "/" + std::string(program.name);
  AD_RETURN_IF_ERROR(WritePrivate(path, program.content));
  size_t position = 0;
  for (RankCommand& rank : ranks) {
    auto command = process::ParsePython(rank.spawn.argv);
    if (!command || rank.input != RankStdin::kNull) continue;
    std::vector<std::string>& argv = command->python;
    argv.push_back(path);
    argv.push_back(RecordOf(folder, position++));
    argv.insert(argv.end(), command->program.begin(), command->program.end());
    rank.spawn.argv = std::move(argv);
    rank.can_wait = true;
  }
  return OkStatus();
}

Status WriteModules(const std::string& folder, const std::vector<RankCommand>& ranks,
                    const std::string& names) {
  for (size_t position = 0; position < ranks.size(); ++position) {
    AD_RETURN_IF_ERROR(WritePrivate(RecordOf(folder, position), names));
  }
  return OkStatus();
}

std::string ImportedModules(const std::string& folder, const std::vector<RankCommand>& ranks,
                            size_t most_bytes) {
  if (ranks.empty()) return "";
  return base::ReadFile(RecordOf(folder, 0), most_bytes).value_or("");
}

}  // namespace autodist::agent
