// The client of another node's FilePort. The other node's data are untrusted, even if it knows the
// key: the caller checks the digest of each file.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "autodist/v1/sync.pb.h"
#include "base/deadline.h"
#include "secure/session.h"

namespace autodist::agent {

// Not thread-safe. Both calls block; meanwhile they call `go_on`, which returns whether to
// continue.
class FileSource {
 public:
  using GoOn = std::function<bool()>;
  static constexpr std::chrono::milliseconds kConnectLimit{5'000};
  // The limit for the next answer and, within a file, for this many bytes or the rest.
  static constexpr std::chrono::milliseconds kPatience{20'000};
  static constexpr uint64_t kLeast = 64 * 1024;

  static Result<FileSource> Connect(const v1::SyncSource& source, const GoOn& go_on);

  // `take` gets the content piece by piece, and returns whether to continue. Fails if the file does
  // not exist or has another size; after any other failure the source must not be used again.
  Status Get(uint64_t number, uint64_t size, const std::function<bool(std::string_view)>& take,
             const GoOn& go_on);

 private:
  explicit FileSource(std::unique_ptr<secure::Session> session) : session_(std::move(session)) {}
  Status Await(short events, base::Deadline deadline, const GoOn& go_on) const;
  Status ShakeHands(const GoOn& go_on) const;
  Status Say(std::string_view words, const GoOn& go_on) const;
  // Reads at least one byte.
  Result<std::string_view> ReadSome(std::span<char> buffer, base::Deadline deadline,
                                    const GoOn& go_on) const;
  Result<uint64_t> HearNumber(const GoOn& go_on) const;

  std::unique_ptr<secure::Session> session_;
};

}  // namespace autodist::agent
