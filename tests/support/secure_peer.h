// A blocking end of an encrypted session, for tests. A timeout is a failure.
#pragma once

#include <poll.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "secure/session.h"
#include "support/limit.h"

namespace autodist::test {

inline void AwaitSocket(secure::Session& session, base::Deadline deadline) {
  const short sends = session.has_to_send() ? POLLOUT : 0;
  pollfd polled{session.socket(), static_cast<short>(POLLIN | sends), 0};
  poll(&polled, 1, deadline.PollTimeout());
}

// Whether both sides have proved that they know the key.
inline bool ShakeHands(secure::Session& session) {
  const base::Deadline deadline = base::Deadline::After(kLimit);
  secure::Progress progress = session.Handshake();
  while (progress == secure::Progress::kWaits && !deadline.Expired()) {
    AwaitSocket(session, deadline);
    progress = session.Handshake();
  }
  return progress == secure::Progress::kDone && session.Flush() == secure::Progress::kDone;
}

// Returns "" if the session ends first.
inline std::string LineOf(secure::Session& session) {
  const base::Deadline deadline = base::Deadline::After(kLimit);
  std::string line;
  secure::Progress progress = session.ReadLine(line, 1 << 20);
  while (progress == secure::Progress::kWaits && !deadline.Expired()) {
    AwaitSocket(session, deadline);
    progress = session.ReadLine(line, 1 << 20);
  }
  return progress == secure::Progress::kDone ? line : "";
}

inline bool SendAll(secure::Session& session, const std::string& text) {
  const base::Deadline deadline = base::Deadline::After(kLimit);
  session.Write(text);
  secure::Progress progress = session.Flush();
  while (progress == secure::Progress::kWaits && !deadline.Expired()) {
    AwaitSocket(session, deadline);
    progress = session.Flush();
  }
  return progress == secure::Progress::kDone;
}

// Returns all data until the session ends.
inline std::string AllOf(secure::Session& session) {
  const base::Deadline deadline = base::Deadline::After(kLimit);
  std::string all;
  for (;;) {
    std::array<char, 4096> bytes;
    size_t got = 0;
    const secure::Progress progress = session.Read(bytes, got);
    all.append(bytes.data(), got);
    if (progress == secure::Progress::kEnded || progress == secure::Progress::kBroken) return all;
    if (progress == secure::Progress::kWaits) AwaitSocket(session, deadline);
    if (deadline.Expired()) return "it does not end: " + all;
  }
}

}  // namespace autodist::test
