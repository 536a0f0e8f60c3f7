#include "chief/hang/stack_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/wall_clock.h"

namespace autodist::chief {

class StackFile::File {
 public:
  explicit File(std::string path) : path_(std::move(path)) {}

  void Open() {
    fd_.Reset(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd_.valid()) status_ = ErrnoError(errno, path_);
  }
  void Write(const std::string& text) {
    if (status_.ok()) {
      status_ = Annotate(base::WriteAll(fd_.get(), text, base::Deadline::Never()), path_);
    }
  }
  const Status& status() const { return status_; }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  base::UniqueFd fd_;
  Status status_;
};

StackFile::StackFile(const std::string& folder, std::set<uint32_t> nodes,
                     InBackground in_background)
    : file_(std::make_shared<File>(folder + base::LocalTime("/stacks-%H%M%S.txt"))),
      in_background_(std::move(in_background)),
      missing_(std::move(nodes)) {
  in_background_([file = file_] { file->Open(); });
}

void StackFile::Add(uint32_t node, const std::string& whose, const v1::RankStacks& stacks) {
  if (!missing_.contains(node)) return;
  const bool last_word = !stacks.has_rank();
  if (last_word) missing_.erase(node);
  std::string text;
  if (!last_word || !stacks.text().empty()) text = "==== " + whose + "\n" + stacks.text();
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  in_background_([file = file_, text = std::move(text)] { file->Write(text); });
}

void StackFile::Finish(Tell tell) {
  in_background_([file = file_, tell = std::move(tell), all = complete()] {
    if (!file->status().ok()) return tell(false, Message(file->status()));
    tell(true, std::string("what ") + (all ? "all" : "some of the") + " ranks are doing is in " +
                   file->path());
  });
}

}  // namespace autodist::chief
