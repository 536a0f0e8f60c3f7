#include "chief/hang/stack_file.h"

#include <utility>

#include "base/wall_clock.h"
#include "base/write_file.h"

namespace autodist::chief {

StackFile::StackFile(const std::string& folder, std::set<uint32_t> nodes)
    : path_(folder + base::LocalTime("/stacks-%H%M%S.txt")), missing_(std::move(nodes)) {}

void StackFile::Add(uint32_t node, const std::string& whose, const v1::RankStacks& stacks) {
  if (!missing_.contains(node)) return;
  const bool last_word = !stacks.has_rank();
  if (last_word) missing_.erase(node);
  if (last_word && stacks.text().empty()) return;
  text_ += "==== " + whose + "\n" + stacks.text();
  if (!text_.ends_with('\n')) text_ += '\n';
}

void StackFile::Write(Loop& loop, Tell tell) {
  loop.InBackground([path = path_, text = std::move(text_), all = complete(), tell] {
    const Status written =
        base::WriteFile(path, text, base::IfExists::kReplace, base::Readers::kOwner);
    if (!written.ok()) return tell(false, Message(written));
    tell(true,
         std::string("what ") + (all ? "all" : "some of the") + " ranks are doing is in " + path);
  });
}

}  // namespace autodist::chief
