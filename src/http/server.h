// HTTP over one listening socket: the connections, their threads and their limits.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "autodist/status.h"
#include "base/fd.h"
#include "http/message.h"

namespace autodist::http {

class Server {
 public:
  // Called on the threads of connections, several at a time.
  using Handler = std::function<Answer(const Request&)>;

  // From a socket that listens already. Requests with a body are refused, and connections beyond
  // `most_connections` are closed at once.
  Server(base::UniqueFd listening, Handler handler, size_t most_connections);
  // Breaks all connections off. Blocks until no handler runs any more.
  ~Server();

 private:
  class Listener;

  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

}  // namespace autodist::http
