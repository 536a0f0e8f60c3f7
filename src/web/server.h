// A page that shows this user's jobs to a browser, live.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "autodist/status.h"

namespace autodist::http {
class Server;
}  // namespace autodist::http

namespace autodist::web {

struct Options {
  std::string job = {};        // an id, which the page begins with; empty: the newest that runs
  bool only_job = false;       // `job` alone is shown: to the page there are no others
  std::string address = {};    // where to listen, as base::ListenAddress reads it
  std::string socket = {};     // the path of a unix socket to listen at instead; empty: none
  std::string forwarded = {};  // with a socket: HOST:PORT that is forwarded to it; empty: 8080
  bool control = false;        // jobs may be stopped, and their stacks taken
};

// A warning where the page is served to a network.
inline constexpr char kTokenIsRead[] =
    "who can read this network's packets can read the page's token, too; a loopback address or a "
    "unix socket, and ssh -L, are safe";

class Access;
class Api;

// Needs no thread of the caller's.
class Server {
 public:
  static Result<std::unique_ptr<Server>> Start(Options options);
  // Ends all; leaves no socket behind. Blocks for a moment, and for a few seconds where the
  // autodist of some job has just been asked and does not answer.
  ~Server();

  // Whole, with the token: whoever knows it may look. With a unix socket, as of the port that is
  // forwarded to it.
  const std::string& url() const { return url_; }
  // Only this machine's programs can connect to it.
  bool is_local() const { return is_local_; }

 private:
  explicit Server(Options options);
  Status Listen();

  Options options_;
  std::string url_;
  bool is_local_ = true;
  std::stop_source stop_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<http::Server> http_;
};

}  // namespace autodist::web
