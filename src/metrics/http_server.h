// HTTP over one listening socket: the connections, their threads and their limits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"

namespace autodist::metrics {

struct Answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  // GET and HEAD; others are refused. `accept`: the header, empty where there is none. Called on
  // the threads of connections, several at a time.
  using Handler = std::function<Answer(const std::string& path, const std::string& accept)>;

  static constexpr size_t kMostConnections = 8;  // further ones are closed at once

  // From a socket that listens already and does not block.
  HttpServer(base::UniqueFd listening, Handler handler);
  // Breaks all connections off. Blocks until no handler runs any more.
  ~HttpServer();

 private:
  class Listener;

  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

}  // namespace autodist::metrics
