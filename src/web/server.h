// A page that shows this user's jobs to a browser, live.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "autodist/status.h"
#include "web/listen.h"

namespace autodist::http {
class Server;
}  // namespace autodist::http

namespace autodist::web {

struct Options {
  std::string job;             // an id, which the page begins with; empty: the newest that runs
  std::optional<Place> place;  // where to listen; nullopt: the loopback address, a free port
  std::string socket;          // the path of a unix socket to listen at instead; empty: none
  bool control = false;        // jobs may be stopped, and their stacks taken
};

class Access;
class Api;

// Needs no thread of the caller's.
class Server {
 public:
  static Result<std::unique_ptr<Server>> Start(Options options);
  // Ends all; leaves no socket behind. Blocks for a moment, and for a few seconds where the
  // autodist of some job has just been asked and does not answer.
  ~Server();

  // Whole, with the token: whoever knows it may look. With a unix socket, as of port 8080 that is
  // forwarded to it.
  const std::string& url() const { return url_; }

 private:
  explicit Server(Options options);
  Status Listen();

  Options options_;
  std::string url_;
  std::stop_source stop_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<http::Server> http_;
};

}  // namespace autodist::web
