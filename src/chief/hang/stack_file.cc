#include "chief/hang/stack_file.h"

#include <fcntl.h>

#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "pickle/pickled.h"

namespace autodist::chief {
namespace {

Status AppendTo(const base::LogFolder& folder, const std::string& name, const std::string& text) {
  AD_ASSIGN_OR_RETURN(const base::UniqueFd fd,
                      folder.OpenFile(name, O_WRONLY | O_CREAT | O_APPEND));
  return Annotate(base::WriteAll(fd.get(), text, base::Deadline::Never()), name);
}

}  // namespace

StackFile::StackFile(base::LogFolder folder, std::set<uint32_t> nodes, Loop& loop)
    : folder_(std::move(folder)),
      name_(base::LocalTime("stacks-%H%M%S.txt")),
      path_(std::filesystem::absolute(folder_.path()) / name_),
      missing_(std::move(nodes)),
      loop_(loop) {
  Append("");
}

void StackFile::Append(std::string text) {
  loop_.InBackground([folder = folder_, name = name_, text = std::move(text), written = written_] {
    if (written->ok()) *written = AppendTo(folder, name, text);
  });
}

void StackFile::WriteRecord(const v1::RankStacks& stacks) {
  if (records_ + stacks.flight_record().size() > kMaxRecords) return;
  records_ += stacks.flight_record().size();
  loop_.InBackground([folder = folder_, rank = std::to_string(stacks.rank()),
                      record = stacks.flight_record(), text_name = name_, written = written_] {
    if (!written->ok()) return;
    const auto plain = pickle::Rewrite(record);
    *written = plain.ok() ? folder.Within("flight-recorder").WriteFile("rank-" + rank, *plain)
                          : AppendTo(folder, text_name,
                                     "==== flight record of rank " + rank + "\nit is not saved: " +
                                         base::Printable(Message(plain.status())) + "\n");
  });
}

bool StackFile::Add(uint32_t node, const std::string& whose, const v1::RankStacks& stacks) {
  if (!missing_.contains(node)) return false;
  const bool is_last = !stacks.has_rank();
  if (!is_last && !reported_.emplace(node, stacks.rank()).second) return false;
  if (is_last) missing_.erase(node);
  if (!is_last && !stacks.flight_record().empty()) WriteRecord(stacks);
  if (stacks.text().empty()) return true;
  std::string text = "==== " + whose + "\n" + stacks.text();
  if (!text.ends_with('\n')) text += '\n';
  Append(std::move(text));
  return true;
}

void StackFile::Finish(std::function<void(const Status& written)> finished) {
  loop_.InBackground([written = written_, finished = std::move(finished)] { finished(*written); });
}

}  // namespace autodist::chief
