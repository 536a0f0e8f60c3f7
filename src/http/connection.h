// One connection of a server: its socket, and what is sent there.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/fd.h"
#include "http/message.h"
#include "http/request_head.h"

namespace autodist::http {

// Belongs to one thread at a time: the server's between requests, that of a handler meanwhile.
// Abort, Authenticate and the queries are for the server's thread at any time.
class Connection {
 public:
  using Time = base::Deadline::Clock::time_point;

  explicit Connection(base::UniqueFd socket) : socket_(std::move(socket)) { AwaitsClient(); }

  int socket() const { return socket_.get(); }

  // From when on this client has done nothing though it is its turn; the end of time: it is not.
  Time silent_since() const { return silent_since_; }
  void AwaitsClient() { silent_since_ = base::Deadline::Clock::now(); }
  void AwaitsHandler() { silent_since_ = Time::max(); }

  // Whether an answer is being sent of which nobody can say when it is whole.
  bool streams() const { return streams_; }

  bool authenticated() const { return authenticated_; }
  void Authenticate() { authenticated_ = true; }

  // Ends what any thread does with the socket; it stays open until this is destroyed.
  void Abort();

  // Reads what has come, as far as there is room for it, or some of it. False: the client has hung
  // up.
  bool Receive();
  // Whether the client has hung up, while its request is handled. Does not block.
  bool Gone() const;

  // Sends an answer whole, unless the client does not take it in time; blocks until then. False:
  // it is not whole, and no other may follow. From its last bytes on the client is awaited.
  bool Send(const Answer& answer, const RequestHead& request);
  // Sends a short answer as far as that does not block; the connection is closed next.
  void SendAtOnce(const Answer& answer, bool with_body);

  // Of the server's thread.
  enum class State {
    kReading,  // a request
    kServing,  // a handler has it
    kClosing,  // what comes is thrown away
    kDropped   // the server has forgotten it
  };
  State state = State::kReading;
  std::string input;  // what has come of the next requests; up to kMaxHead bytes
  base::Deadline deadline = base::Deadline::Never();  // until the client does what is awaited

 private:
  bool SendAll(std::string_view data);
  bool SendPieces(const std::function<Answer::Piece()>& next, bool chunked);

  const base::UniqueFd socket_;
  bool authenticated_ = false;
  std::atomic<Time> silent_since_;
  std::atomic<bool> streams_ = false;
};

}  // namespace autodist::http
