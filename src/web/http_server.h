// HTTP over one listening socket: the connections, their threads and their limits.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "autodist/status.h"
#include "base/fd.h"
#include "web/http.h"

namespace autodist::web {

class HttpServer {
 public:
  // Called on the threads of connections, several at a time.
  using Handler = std::function<Answer(const Request&)>;

  // From a socket that listens already. Requests with a body are refused.
  HttpServer(base::UniqueFd listening, Handler handler);
  // Breaks all connections off. Blocks until no handler runs any more.
  ~HttpServer();

 private:
  class Listener;

  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

}  // namespace autodist::web
