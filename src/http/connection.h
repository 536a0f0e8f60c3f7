// One connection of a server: reads the heads of requests, within limits, and sends answers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "http/message.h"

namespace autodist::http {

// Max bytes of a head with its blank line: a browser
// sends the cookies of all ports of a host.
inline constexpr size_t kMaxHead = 16 << 10;
inline constexpr size_t kMaxHeaders = 32;

struct RequestHead {
  Request request;         // without `gone`
  bool is_head = false;    // the answer must have no body
  bool may_chunk = false;  // the client supports chunked encoding
  bool close = false;      // no request follows
};

// Bytes of the head at the beginning of `input`; 0: it is incomplete.
size_t HeadSize(std::string_view input);

// `head` as delimited by HeadSize. Refuses malformed requests, too many headers, and requests with
// a body, which this server does not read.
std::variant<RequestHead, Answer> ReadHead(std::string_view head);

// The refusal of `input`, which has kMaxHead bytes without a whole head.
Answer TooLarge(std::string_view input);

// Whether a client with this Host header means a server that listens at `listening` (nullopt: a
// unix socket, to which a port is forwarded). A foreign name is a sign of DNS rebinding. Ours are
// localhost and, on a network, any address and this machine's own name, with or without its domain.
bool IsOurHost(std::string_view header, const std::optional<base::IpAddress>& listening);

// The socket, and sending on it. Used by one thread at a time: by a handler's thread during a
// request, else by the server's. The server's thread may call Abort, Authenticate and the queries
// at any time.
class Connection {
 public:
  using Time = base::Deadline::Clock::time_point;

  explicit Connection(base::UniqueFd socket) : socket_(std::move(socket)) { AwaitsClient(); }

  int socket() const { return socket_.get(); }

  // Since when the server has been waiting for the client; Time::max(): it is not.
  Time silent_since() const { return silent_since_; }
  void AwaitsClient() { silent_since_ = base::Deadline::Clock::now(); }
  void AwaitsHandler() { silent_since_ = Time::max(); }

  // Whether an answer of unknown length is being sent.
  bool streams() const { return streams_; }

  bool authenticated() const { return authenticated_; }
  void Authenticate() { authenticated_ = true; }

  // Ends all operations on the socket, on any thread; it stays open until this is destroyed.
  void Abort();

  // Reads what has arrived, as far as there is room. False: the client has disconnected.
  bool Receive();
  // Whether the client has disconnected while its request is handled. Does not block.
  bool Gone() const;

  // Sends a whole answer; blocks until then, or until the client is too slow. False: it is
  // incomplete, and no other may follow. Then the server waits for the client.
  bool Send(const Answer& answer, const RequestHead& request);
  // Sends as much of a short answer as possible without blocking; the connection is closed next.
  void SendAtOnce(const Answer& answer, bool with_body);

  // Used by the server's thread.
  enum class State {
    kReading,  // waits for a request
    kServing,  // a handler has the request
    kClosing,  // discards input
    kDropped   // the server has released it
  };
  State state = State::kReading;
  std::string input;  // received bytes of the next requests; up to kMaxHead
  base::Deadline deadline = base::Deadline::Never();  // for the client's next action

 private:
  bool SendAll(std::string_view data);
  bool SendPieces(const std::function<Answer::Piece()>& next, bool chunked);

  const base::UniqueFd socket_;
  bool authenticated_ = false;
  std::atomic<Time> silent_since_;
  std::atomic<bool> streams_ = false;
};

}  // namespace autodist::http
