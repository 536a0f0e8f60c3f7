#include "agent/prepare/folder_marks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/parse_number.h"

namespace autodist::agent {
namespace {

// The time to wait for the first node's mark, if this node could not create one.
constexpr std::chrono::milliseconds kMarkLimit{3'000};
constexpr std::chrono::milliseconds kMarkInterval{50};  // there is no notification across nodes

std::string NameOfMark(const std::string& word, const std::string& node) {
  return ".autodist-" + word + "-" + node;
}

// Adds all nodes whose marks are in the folder now.
void AddAllSeen(const std::string& folder, const std::string& word, v1::SharedFolderFact& fact) {
  const std::string beginning = NameOfMark(word, "");
  for (const std::string& entry : base::EntriesOf(folder)) {
    std::string_view name = entry;
    if (!name.starts_with(beginning)) continue;
    name.remove_prefix(beginning.size());
    if (const auto node = base::ParseNumber<uint32_t>(name)) fact.add_seen(*node);
  }
}

bool SeesFirst(const std::string& first, bool marked) {
  const auto limit = base::Deadline::After(kMarkLimit);
  while (access(first.c_str(), F_OK) != 0) {
    if (marked || errno != ENOENT || limit.Expired()) return false;
    std::this_thread::sleep_for(kMarkInterval);
  }
  return true;
}

}  // namespace

FolderMark::~FolderMark() {
  if (!path_.empty()) unlink(path_.c_str());
}

std::vector<FolderMark> MarkFolders(const v1::ProbeRequest& probe, uint32_t node_rank,
                                    v1::NodeInfo& facts) {
  std::vector<FolderMark> marks;
  const std::string& word = probe.mark();
  for (const std::string& folder : probe.shared_folders()) {
    v1::SharedFolderFact& fact = *facts.add_shared_folders();
    const std::string path = folder + "/" + NameOfMark(word, std::to_string(node_rank));
    const base::UniqueFd file(
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    const int error = file.valid() ? 0 : errno;
    if (error == 0) marks.emplace_back(path);
    if (error != 0) fact.set_error(std::strerror(error));
    fact.set_not_writable(error == EROFS || error == EACCES || error == EPERM);
    if (node_rank == 0) {
      if (error == 0) AddAllSeen(folder, word, fact);
    } else if (error == 0 || fact.not_writable()) {
      if (SeesFirst(folder + "/" + NameOfMark(word, "0"), error == 0)) fact.add_seen(0);
    }
  }
  return marks;
}

}  // namespace autodist::agent
