// Keeps a rank's last output, and the message that says why it ended.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "chief/output/fatal_messages.h"
#include "display/line_reader.h"
#include "display/screen.h"

namespace autodist::chief {

// Its size is bounded, whatever is written.
class FailureExcerpt {
 public:
  static constexpr size_t kMaxLines = 10;        // per stream
  static constexpr size_t kMaxLineLength = 400;  // bytes kept of a line

  explicit FailureExcerpt(const std::string& working_directory)
      : fatal_{FatalMessages(working_directory), FatalMessages(working_directory)} {}

  // Takes a complete line; of a very long one, the beginning. Ignores empty lines, and text that a
  // progress bar replaced with '\r'.
  void Take(display::Stream stream, std::string_view line, display::Time now = {});

  // Returns the last lines, the oldest first, each cut to kMaxLineLength.
  std::vector<std::string> Lines(display::Stream stream) const;
  // Returns the last line of either stream; "" if none.
  std::string LastLine() const;
  // Returns the message that best explains the end; null: none.
  const FatalMessage* fatal() const;
  // Returns the number of later lines in the same stream.
  uint32_t lines_since_fatal() const;

 private:
  // The messages of the stream that has it; null: none.
  const FatalMessages* Fatal() const;

  struct Ring {
    std::array<std::string, kMaxLines> lines;
    size_t taken = 0;
  };

  std::array<Ring, 2> rings_;
  display::Stream last_ = display::kStdout;
  std::array<FatalMessages, 2> fatal_;
};

}  // namespace autodist::chief
