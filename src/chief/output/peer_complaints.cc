#include "chief/output/peer_complaints.h"

#include <algorithm>
#include <array>

namespace autodist::chief {
namespace {

// Of Gloo, NCCL, PyTorch's c10d, JAX, MPI, and of sockets in general.
constexpr std::array<std::string_view, 31> kComplaints = {
    "Connection closed by peer",
    "Connection reset by peer",
    "Connection refused",
    "Connection aborted",
    "Connection timed out",
    "connection reset by peer",
    "Broken pipe",
    "Socket Timeout",
    "Socket closed",
    "socket has timed out",
    "Socket is not connected",
    "Read error [",
    "Write error [",
    "recvBytes failed",
    "recvValue failed",
    "sendBytes failed",
    "Failed to recv",
    "failed to recv, got 0 bytes",
    "Timed out waiting",
    "Application timeout caused pair closure",
    "Watchdog caught collective operation timeout",
    "ncclRemoteError",
    "remote process exited or there was a network error",
    "remote process has terminated",
    "NCCL communicator was aborted",
    "DistNetworkError",
    "heartbeat timeout",
    "Heartbeat timeout",
    "another task died",
    "The tasks have crashed",
    "MPI_ERR_PROC_FAILED",
};

}  // namespace

bool BlamesPeer(std::string_view text) {
  return std::ranges::any_of(kComplaints, [&](std::string_view complaint) {
    return text.find(complaint) != std::string_view::npos;
  });
}

}  // namespace autodist::chief
