#include "chief/hang/stack_file.h"

#include <fcntl.h>

#include <cerrno>

#include "base/log.h"
#include "base/wall_clock.h"

namespace autodist::chief {

Result<StackFile> StackFile::Create(const std::string& folder, std::set<uint32_t> nodes) {
  std::string path = folder + base::LocalTime("/stacks-%H%M%S.txt");
  base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoError(errno, path);
  return StackFile(std::move(path), std::move(file), std::move(nodes));
}

void StackFile::Add(uint32_t node, const std::string& whose, const v1::RankStacks& stacks) {
  if (!missing_.contains(node)) return;
  const bool last_word = !stacks.has_rank();
  if (last_word) missing_.erase(node);
  std::string text;
  if (!last_word || !stacks.text().empty()) text = "==== " + whose + "\n" + stacks.text();
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  const Status written = base::WriteAll(file_.get(), text, base::Deadline::Never());
  if (!written.ok()) base::Log(base::LogLevel::kWarning, path_ + ": " + Message(written));
}

}  // namespace autodist::chief
