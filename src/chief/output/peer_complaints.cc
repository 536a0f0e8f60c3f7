#include "chief/output/peer_complaints.h"

#include <algorithm>
#include <array>

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

template <size_t kCount>
bool HasOne(const std::array<std::string_view, kCount>& of, std::string_view text) {
  return std::ranges::any_of(
      of, [&](std::string_view one) { return text.find(one) != std::string_view::npos; });
}

}  // namespace

bool BlamesPeer(std::string_view text) {
  return HasOne(kComplaints, text) || HasOne(kTimeouts, text);
}

bool AwaitedInVain(std::string_view text) { return HasOne(kTimeouts, text); }

}  // namespace autodist::chief
