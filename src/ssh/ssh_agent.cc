#include "ssh/ssh_agent.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/quantity.h"
#include "base/unix_socket.h"
#include "ssh/ssh_public_key.h"
#include "ssh/ssh_wire.h"

namespace autodist::ssh {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr milliseconds kListLimit{10'000};
constexpr size_t kLargestAnswer = 256 * 1024;

enum MessageType : unsigned char {
  kRequestIdentities = 11,
  kIdentitiesAnswer = 12,
  kSignRequest = 13,
  kSignResponse = 14,
};

Result<base::UniqueFd> Connect(const std::string& path, Deadline deadline) {
  const sockaddr_un address = base::UnixAddress(path);
  if (address.sun_path != path) {
    return Error(StatusCode::kInvalidArgument, "the path is too long for a socket");
  }
  base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoError(errno, "socket");
  // The send timeout limits connect() to an agent with a full backlog; poll() cannot.
  const int left = deadline.PollTimeout();
  const timeval limit{left / 1000, left % 1000 * 1000};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return ErrnoError(errno == EAGAIN ? ETIMEDOUT : errno, "connect");
  }
  return fd;
}

Result<std::string> ReceiveFromAgent(int fd, size_t size, Deadline deadline) {
  std::string bytes(size, '\0');
  for (size_t have = 0; have < size;) {
    AD_ASSIGN_OR_RETURN(const size_t got,
                        base::ReadSome(fd, bytes.data() + have, size - have, deadline));
    if (got == 0) return Error(StatusCode::kUnavailable, "it closed the connection");
    have += got;
  }
  return bytes;
}

// Sends one message and returns the body of the response, which must be of type `wanted`.
Result<std::string> Exchange(const std::string& socket, const std::string& request,
                             MessageType wanted, Deadline deadline, const std::stop_token& stop) {
  AD_ASSIGN_OR_RETURN(const base::UniqueFd fd, Connect(socket, deadline));
  const std::stop_callback hang_up(stop, [&fd] { shutdown(fd.get(), SHUT_RDWR); });
  std::string framed;
  AppendString(framed, request);
  AD_RETURN_IF_ERROR(base::WriteAll(fd.get(), framed, deadline));
  AD_ASSIGN_OR_RETURN(const std::string size_bytes,
                      ReceiveFromAgent(fd.get(), sizeof(uint32_t), deadline));
  const uint32_t size = WireReader(size_bytes).Number();
  if (size == 0 || size > kLargestAnswer) {
    return Error(StatusCode::kUnavailable, "it does not speak the agent's protocol");
  }
  AD_ASSIGN_OR_RETURN(const std::string type, ReceiveFromAgent(fd.get(), 1, deadline));
  if (type != std::string(1, static_cast<char>(wanted)))
    return Error(StatusCode::kPermissionDenied, "it refused");
  return ReceiveFromAgent(fd.get(), size - 1, deadline);
}

Result<std::string> Ask(const std::string& socket, const std::string& request, MessageType wanted,
                        milliseconds limit, const std::stop_token& stop) {
  auto answer = Exchange(socket, request, wanted, Deadline::After(limit), stop);
  if (answer.status().code() != StatusCode::kDeadlineExceeded) return answer;
  return Error(StatusCode::kDeadlineExceeded, "no answer within " + base::Seconds(limit));
}

Status Malformed() { return Error(StatusCode::kUnavailable, "it gave a malformed answer"); }

uint32_t FlagsFor(std::string_view algorithm) {
  constexpr uint32_t kRsaSha256 = 2;
  constexpr uint32_t kRsaSha512 = 4;
  if (algorithm == "rsa-sha2-256") return kRsaSha256;
  return algorithm == "rsa-sha2-512" ? kRsaSha512 : 0;
}

std::string Where(const std::string& socket) { return "ssh-agent at " + socket; }

}  // namespace

Result<std::vector<AgentKey>> SshAgent::Keys() const {
  const auto answer =
      Ask(socket_, std::string(1, kRequestIdentities), kIdentitiesAnswer, kListLimit, {});
  if (!answer.ok()) {
    return WithRemedy(Annotate(answer.status(), Where(socket_)),
                      "check `ssh-add -l`; SSH_AUTH_SOCK must name the socket of an agent");
  }
  WireReader reader(*answer);
  const uint32_t count = reader.Number();
  std::vector<AgentKey> keys;
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    AgentKey key;
    key.blob = reader.String();
    key.comment = reader.String();
    keys.push_back(std::move(key));
  }
  if (!reader.ok()) return Annotate(Malformed(), Where(socket_));
  return keys;
}

Result<std::string> SshAgent::Sign(std::string_view blob, std::string_view algorithm,
                                   std::string_view data, const std::stop_token& stop) const {
  std::string request(1, kSignRequest);
  AppendString(request, blob);
  AppendString(request, data);
  AppendNumber(request, FlagsFor(algorithm));
  const auto answer = Ask(socket_, request, kSignResponse, sign_limit_, stop);
  if (!answer.ok()) {
    const bool refused = answer.status().code() == StatusCode::kPermissionDenied;
    return WithRemedy(
        Annotate(answer.status(), Where(socket_) + ", asked to sign"),
        refused ? "unlock it (ssh-add -X), or confirm its question" : "check `ssh-add -l`");
  }
  WireReader outer(*answer);
  WireReader signature(outer.String());
  const std::string_view used = signature.String();
  const std::string_view proper = signature.String();
  if (!outer.ok() || !signature.ok()) return Annotate(Malformed(), Where(socket_));
  if (used != algorithm) {
    return WithRemedy(Error(StatusCode::kUnimplemented,
                            Where(socket_) + " does not sign with " + std::string(algorithm)),
                      "use a newer agent, or another kind of key");
  }
  return std::string(proper);
}

Result<std::string> AgentIdentity::SignRequest(std::string_view request,
                                               const std::stop_token& stop) const {
  AD_ASSIGN_OR_RETURN(const std::string algorithm, SignatureAlgorithm(request));
  return agent_.Sign(blob_, algorithm, request, stop);
}

}  // namespace autodist::ssh
