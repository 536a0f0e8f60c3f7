// Passes on the output of a command on another node (chief/remote_controller/run_remote) to this
// process's stdout or stderr.
#pragma once

#include <string>
#include <string_view>

namespace autodist::chief {

// The mark after the output of a command that ended with 255: the ssh program also exits with 255
// if it could not log in. The nonce is new for each command. The mark begins with a byte that
// rarely ends output, because such a byte is held back until the next bytes.
std::string MarkOf255(const std::string& nonce);

// Pure logic; not thread-safe.
class RemoteOutput {
 public:
  // `to_terminal`: the text goes to a terminal here, although the command did not write for one: it
  // is passed on by lines, without terminal control sequences other than colours.
  RemoteOutput(const std::string& nonce, bool to_terminal)
      : mark_(MarkOf255(nonce)), to_terminal_(to_terminal) {}

  // Returns the text to write now.
  std::string Take(std::string_view bytes);
  // Returns the rest: no more bytes follow.
  std::string End();
  // Returns whether the mark has arrived; it is not passed on.
  bool ended_with_255() const { return marked_; }

 private:
  std::string Shown(bool end);

  const std::string mark_;
  const bool to_terminal_;
  std::string held_;  // may be the beginning of the mark
  std::string text_;  // not returned yet
  bool marked_ = false;
};

}  // namespace autodist::chief
