// An HTTP server at one listening socket: manages connections, threads and limits.
//
// One thread serves all connections until a request is complete and admitted, so clients that are
// slow, send too much or are refused cost no thread, and at most kMaxHead bytes each.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "autodist/status.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "http/message.h"

namespace autodist::http {

struct Admission {
  std::optional<Answer> instead = {};  // the answer to a refused request; closes the connection
  bool authenticated = false;          // unauthenticated clients cannot displace this client
};

struct Handlers {
  // Decides about a request, on the server's thread; must not block.
  std::function<Admission(const Request&)> admit;
  // Answers an admitted request; called on several other threads at a time.
  std::function<Answer(const Request&)> answer;
};

struct Options {
  std::optional<base::IpAddress> listening = {};  // nullopt: a unix socket
  // Max connections of unauthenticated clients and of authenticated ones. Beyond it, drops the one
  // that has been silent longest.
  size_t max_strangers = 0;
  size_t max_authenticated = 0;
};

class Server {
 public:
  // `socket` must be listening and non-blocking.
  static Result<std::unique_ptr<Server>> Start(base::UniqueFd socket, Options options,
                                               Handlers handlers);
  // Allows a second for answers under way, except streams, and closes all connections. Blocks until
  // all handlers have returned.
  ~Server();

 private:
  class Loop;

  explicit Server(std::unique_ptr<Loop> loop);

  const std::unique_ptr<Loop> loop_;
};

}  // namespace autodist::http
