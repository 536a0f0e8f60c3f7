// What autodist tells the person while a job runs.
#pragma once

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"
#include "chief/mailbox.h"

namespace autodist::chief {

// Logs on a thread of its own: a paused terminal must not keep the job from renewing its leases.
class Messages {
 public:
  ~Messages() { Finish(); }

  // Thread-safe; does not block.
  void Tell(base::LogLevel level, std::string text) { queue_.Put(Text{level, std::move(text)}); }
  // Blocks until all of them are written; none may come after it.
  void Finish() {
    if (!thread_.joinable()) return;
    queue_.Put(std::nullopt);
    thread_.join();
  }

 private:
  using Text = std::pair<base::LogLevel, std::string>;

  void Run() {
    for (;;) {
      const auto text = *queue_.Take(base::Deadline::Never());
      if (!text) return;
      base::Log(text->first, text->second);
    }
  }

  Mailbox<std::optional<Text>> queue_;
  std::thread thread_{&Messages::Run, this};  // last
};

}  // namespace autodist::chief
