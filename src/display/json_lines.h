// Formats output of ranks as lines of JSON, for `run --json`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/wall_clock.h"
#include "display/screen.h"
#include "display/shown_ranks.h"

namespace autodist::display {

// {"type":"output","time_ms":...,"rank":3,"node":"gpu1","stream":"stdout","text":"..."}, without a
// line feed. Bytes that are not UTF-8 become '?'; an unknown time is null.
std::string OutputAsJson(const Process& process, Stream stream, std::optional<base::WallTime> time,
                         std::string_view text);

}  // namespace autodist::display
