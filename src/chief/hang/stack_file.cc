#include "chief/hang/stack_file.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/wall_clock.h"

namespace autodist::chief {
namespace {

Status AppendTo(const std::string& path, const std::string& text) {
  const base::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoError(errno, path);
  return Annotate(base::WriteAll(fd.get(), text, base::Deadline::Never()), path);
}

}  // namespace

StackFile::StackFile(const std::string& folder, std::set<uint32_t> nodes, Loop& loop)
    : path_(std::filesystem::absolute(folder).string() + base::LocalTime("/stacks-%H%M%S.txt")),
      missing_(std::move(nodes)),
      loop_(loop) {
  Append("");
}

void StackFile::Append(std::string text) {
  loop_.InBackground([path = path_, text = std::move(text), written = written_] {
    if (written->ok()) *written = AppendTo(path, text);
  });
}

bool StackFile::Add(uint32_t node, const std::string& whose, const v1::RankStacks& stacks) {
  if (!missing_.contains(node)) return false;
  const bool last_word = !stacks.has_rank();
  if (!last_word && !told_.emplace(node, stacks.rank()).second) return false;
  if (last_word) missing_.erase(node);
  if (last_word && stacks.text().empty()) return true;
  std::string text = "==== " + whose + "\n" + stacks.text();
  if (!text.ends_with('\n')) text += '\n';
  Append(std::move(text));
  return true;
}

void StackFile::Finish(std::function<void(const Status& written)> finished) {
  loop_.InBackground([written = written_, finished = std::move(finished)] { finished(*written); });
}

}  // namespace autodist::chief
