// What a rank has written last, and what of all that it wrote says why it ended.
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

// Of bounded size, whatever is written.
class FailureExcerpt {
 public:
  static constexpr size_t kMaxLines = 10;        // of a stream
  static constexpr size_t kMaxLineLength = 400;  // bytes that are kept of one

  explicit FailureExcerpt(const std::string& working_directory)
      : fatal_{FatalMessages(working_directory), FatalMessages(working_directory)} {}

  // A line that has ended; of a very long one its beginning. What a progress bar has replaced by
  // '\r' does not count, nor does a line without anything in it.
  void Take(display::Stream stream, std::string_view line, display::Time now = {});

  // The last lines, the oldest first; each cut to kMaxLineLength.
  std::vector<std::string> Lines(display::Stream stream) const;
  // Of either stream; "" if there is none.
  std::string LastLine() const;
  // What tells most of why it ended; null: nothing does.
  const FatalMessage* fatal() const;
  // Lines of its stream that have come after it.
  uint32_t lines_since_fatal() const;

 private:
  // Of the stream that has it; null as above.
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
