// Another node that has the files: the other side of a FilePort. Nothing that it says is believed
// but that it knows the answer; whoever gets a file looks at its digest.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "autodist/status.h"
#include "autodist/v1/sync.pb.h"
#include "base/deadline.h"
#include "base/fd.h"

namespace autodist::agent {

// Not thread-safe. Both calls block; while they wait, `go_on` is asked again and again whether to.
class FileSource {
 public:
  using GoOn = std::function<bool()>;
  static constexpr std::chrono::milliseconds kConnectLimit{5'000};
  // In which the next answer has to come, or of a file this many bytes or the rest.
  static constexpr std::chrono::milliseconds kPatience{20'000};
  static constexpr uint64_t kLeast = 64 * 1024;

  static Result<FileSource> Connect(const v1::SyncSource& source, const GoOn& go_on);

  // `take` gets the content piece after piece, and says whether to go on. Fails where the file is
  // not there or not of this size; after any other failure the source must not be used again.
  Status Get(uint64_t number, uint64_t size, const std::function<bool(std::string_view)>& take,
             const GoOn& go_on);

 private:
  explicit FileSource(base::UniqueFd socket) : socket_(std::move(socket)) {}
  Status Await(short events, base::Deadline deadline, const GoOn& go_on) const;
  Status Say(std::string_view words, const GoOn& go_on) const;
  Result<std::string> Hear(size_t size, const GoOn& go_on) const;  // that many bytes

  base::UniqueFd socket_;
};

}  // namespace autodist::agent
