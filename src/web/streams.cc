#include "web/streams.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/deadline.h"
#include "web/json.h"

namespace autodist::web {
namespace {

using namespace std::chrono_literals;
using base::Deadline;

constexpr char kEvents[] = "text/event-stream";
// How long a viewer that left may keep its slot, and the longest wait at shutdown.
constexpr std::chrono::milliseconds kLook = 250ms;
// A comment now and then keeps proxies from closing a quiet stream.
constexpr std::chrono::seconds kSign{10};
constexpr std::chrono::milliseconds kTailInterval = 500ms;
constexpr size_t kTailBytes = 64 << 10;  // max per interval

http::Answer::Piece Sign() {
  static const auto text = std::make_shared<const std::string>(": here\n\n");
  return text;
}

// Returns the length without an incomplete character at the end.
size_t WholeCharacters(std::string_view text) {
  constexpr size_t kLongest = 4;
  for (size_t back = 1; back < kLongest && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;  // continuation byte
    const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

bool Over(const Viewer& viewer) { return viewer.stop.stop_requested() || viewer.gone(); }

class Tail {
 public:
  Tail(std::shared_ptr<const LogFile> file, uint64_t from, Viewer viewer)
      : file_(std::move(file)), at_(from), viewer_(std::move(viewer)) {}

  http::Answer::Piece Next() {
    const Deadline sign = Deadline::After(kSign);
    for (bool first = std::exchange(first_, false);; first = false) {
      if (!first) Pause();
      if (Over(viewer_)) return nullptr;
      const uint64_t size = file_->Size();
      if (size < at_) at_ = 0;  // the file was truncated
      if (size > at_ || first) {
        const uint64_t from = std::max(at_, size > kTailBytes ? size - kTailBytes : 0);
        std::string text = file_->Read(from, kTailBytes);
        text.resize(WholeCharacters(text));
        at_ = from + text.size();
        if (text.empty() && !first) continue;
        return std::make_shared<const std::string>(
            "event: tail\ndata: " + TailJson(from, size, text) + "\n\n");
      }
      if (sign.Expired()) return Sign();
    }
  }

 private:
  void Pause() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, viewer_.stop, kTailInterval, [] { return false; });
  }

  const std::shared_ptr<const LogFile> file_;
  uint64_t at_;
  const Viewer viewer_;
  bool first_ = true;
  std::mutex mutex_;
  std::condition_variable_any changed_;
};

}  // namespace

http::Answer SnapshotStream(std::shared_ptr<JobSubscription> watch, Viewer viewer) {
  http::Answer answer{.type = kEvents};
  answer.next = [watch = std::move(watch), viewer = std::move(viewer), seen = uint64_t{0},
                 ended = false]() mutable -> http::Answer::Piece {
    const Deadline sign = Deadline::After(kSign);
    while (!ended && !Over(viewer)) {
      const LatestValue::Update update = watch->latest().Await(seen, Deadline::After(kLook));
      if (std::exchange(seen, update.number) != update.number) return update.text;
      ended = update.ended;
      if (!ended && sign.Expired()) return Sign();
    }
    if (!std::exchange(ended, false) || Over(viewer)) return nullptr;
    viewer.stop = {};
    viewer.gone = [] { return true; };  // makes the next call end the stream
    return std::make_shared<const std::string>("event: end\ndata: {}\n\n");
  };
  return answer;
}

http::Answer TailStream(std::shared_ptr<const LogFile> file, uint64_t from, Viewer viewer) {
  auto tail = std::make_shared<Tail>(std::move(file), from, std::move(viewer));
  return {.type = kEvents, .next = [tail] { return tail->Next(); }};
}

}  // namespace autodist::web
