// What a command that runs on another node (chief/remote_controller/run_remote) writes, on its way
// to this process's stdout or stderr.
#pragma once

#include <string>
#include <string_view>

namespace autodist::chief {

// What follows the output of a command that has ended with 255: the ssh program ends with that code
// where it could not log in, too. The nonce is new for each command. It begins with a byte that is
// at the end of hardly any output, as one there is kept back until the next bytes.
std::string MarkOf255(const std::string& nonce);

// Pure logic; not thread-safe.
class RemoteOutput {
 public:
  // `to_terminal`: the text goes to a terminal here, for which the command did not make it: it is
  // passed on by lines, without what the terminal would obey but colours.
  RemoteOutput(const std::string& nonce, bool to_terminal)
      : mark_(MarkOf255(nonce)), to_terminal_(to_terminal) {}

  // What is to be written of it now.
  std::string Take(std::string_view bytes);
  // The rest: nothing follows.
  std::string End();
  // Whether the mark has come, which is not passed on.
  bool ended_with_255() const { return marked_; }

 private:
  std::string Shown(bool end);

  const std::string mark_;
  const bool to_terminal_;
  std::string held_;  // it may begin the mark
  std::string text_;  // not shown yet
  bool marked_ = false;
};

}  // namespace autodist::chief
