#include "chief/output/peer_complaints.h"

#include <algorithm>
#include <array>

#include "base/split.h"

namespace autodist::chief {
namespace {

// Messages of Gloo, NCCL, PyTorch's c10d, JAX, MPI, and of sockets in general.
constexpr std::array<std::string_view, 24> kComplaints = {
    "Connection closed by peer",
    "Connection reset by peer",
    "Connection refused",
    "Connection aborted",
    "connection reset by peer",
    "Broken pipe",
    "Socket closed",
    "Socket is not connected",
    "Read error [",
    "Write error [",
    "recvBytes failed",
    "recvValue failed",
    "sendBytes failed",
    "Failed to recv",
    "failed to recv, got 0 bytes",
    "ncclRemoteError",
    "remote process exited or there was a network error",
    "remote process has terminated",
    "DistNetworkError",
    "heartbeat timeout",
    "Heartbeat timeout",
    "another task died",
    "The tasks have crashed",
    "MPI_ERR_PROC_FAILED",
};

// The same for timeouts.
constexpr std::array<std::string_view, 10> kTimeouts = {
    "Timed out waiting",
    "Socket Timeout",
    "socket has timed out",
    "Connection timed out",
    "Application timeout caused pair closure",
    "collective operation timeout",
    "NCCL communicator was aborted",  // by PyTorch at its time limit
    "wait timeout after",
    "DEADLINE_EXCEEDED",
    "Timeout waiting for",
};

// A port that the rank itself cannot open.
constexpr std::array<std::string_view, 2> kPortInUse = {"ddress already in use", "EADDRINUSE"};

template <size_t kCount>
bool HasOne(const std::array<std::string_view, kCount>& of, std::string_view text) {
  return std::ranges::any_of(
      of, [&](std::string_view one) { return text.find(one) != std::string_view::npos; });
}

}  // namespace

bool BlamesPeer(std::string_view text) {
  return !HasOne(kPortInUse, text) && (HasOne(kComplaints, text) || HasOne(kTimeouts, text));
}

bool AwaitedInVain(std::string_view text) { return HasOne(kTimeouts, text); }

// "[PG ID 0 PG GUID 0(default_pg) Rank 1] …, last enqueued NCCL work: 7, …"; versions of
// ProcessGroupNCCL.cpp from 2.3 on differ in the text around it.
std::optional<EnqueuedCollectives> EnqueuedIn(std::string_view line) {
  constexpr size_t kMaxGroupLength = 64;
  constexpr std::string_view kEnqueued = "ast enqueued ";
  constexpr std::string_view kWork = "work: ";
  const size_t enqueued = line.find(kEnqueued);
  if (enqueued == std::string_view::npos) return std::nullopt;
  std::string_view number = line.substr(enqueued + kEnqueued.size());
  base::TakePrefix(number, "NCCL ");
  if (!base::TakePrefix(number, kWork)) return std::nullopt;
  const auto count = base::TakeNumber<uint64_t>(number);
  if (!count) return std::nullopt;
  EnqueuedCollectives found{"", *count};
  const std::string_view before = line.substr(0, enqueued);
  const size_t begin = before.rfind("[PG ");
  const size_t end = begin == std::string_view::npos ? begin : before.find(" Rank ", begin);
  if (end != std::string_view::npos) {
    found.group = before.substr(begin, std::min(end - begin, kMaxGroupLength));
  }
  return found;
}

}  // namespace autodist::chief
