// This process's stdout and stderr, to which the ranks' lines go.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::chief {

// For one thread, which it may block for as long as nobody reads.
class Terminal {
 public:
  enum Stream : size_t { kStdout = 0, kStderr = 1 };

  // Adds to what Flush writes.
  void Append(Stream stream, std::string_view text) { pending_[stream].append(text); }
  void Flush();
  void Flush(Stream stream);

  // Of what takes nothing any more, so that lines are in the log files only; other than what its
  // reader has closed, who knows.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::array<std::string, 2> pending_;
  std::array<bool, 2> closed_{};
  std::vector<std::string> warnings_;
};

}  // namespace autodist::chief
