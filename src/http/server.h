// HTTP over one listening socket: the connections, their threads and their limits.
//
// One thread has all connections until a request is whole and let in: clients that say nothing, too
// much or what is refused cost no thread, and no more than kMaxHead bytes each.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "autodist/status.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "http/host.h"
#include "http/message.h"

namespace autodist::http {

struct Admission {
  std::optional<Answer> instead = {};  // of what was asked for; the connection is closed
  bool authenticated = false;          // no stranger displaces this client
};

struct Handlers {
  // Decides about a request, on the thread of the server: does not block.
  std::function<Admission(const Request&)> admit;
  // Answers one that has been let in, on other threads, several at a time.
  std::function<Answer(const Request&)> answer;
};

struct Options {
  std::optional<base::IpAddress> listening = {};  // nullopt: at a unix socket
  // Connections. Of strangers beyond that the one whose client has been silent for longest is
  // dropped, and of authenticated clients in the same way.
  size_t max_strangers = 0;
  size_t max_authenticated = 0;
};

class Server {
 public:
  // `socket` listens already, and does not block.
  static Result<std::unique_ptr<Server>> Start(base::UniqueFd socket, Options options,
                                               Handlers handlers);
  // Lets answers that are under way be sent for up to a second, but no streams, and breaks all
  // connections off. Blocks until no handler runs any more.
  ~Server();

 private:
  class Loop;

  explicit Server(std::unique_ptr<Loop> loop);

  const std::unique_ptr<Loop> loop_;
};

}  // namespace autodist::http
