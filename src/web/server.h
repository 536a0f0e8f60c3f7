// Serves a live page that shows this user's jobs in a browser.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::http {
class Server;
}  // namespace autodist::http

namespace autodist::web {

// Listens at a unix socket. Only this user can connect to the path. Removes the socket of a killed
// server; kAlreadyExists if anything else is there.
Result<base::UniqueFd> ListenAtPath(const std::string& path);

struct Options {
  std::string job = {};   // id of the job that the page opens with; empty: the newest running job
  bool only_job = false;  // shows `job` only
  std::string address = {};  // where to listen, as base::ListenAddress reads it
  // the path of a unix socket to listen at instead of `address`; empty: none
  std::string socket = {};
  std::string forwarded = {};  // HOST:PORT that is forwarded to `socket`; empty: 8080
  bool control = false;        // viewers may stop jobs and collect stacks
};

// The warning if the page is served to a network.
inline constexpr char kTokenIsRead[] =
    "who can read this network's packets can read the page's token, too; a loopback address or a "
    "unix socket, and ssh -L, are safe";

class Access;
class Api;

// Starts the threads that it needs.
class Server {
 public:
  static Result<std::unique_ptr<Server>> Start(Options options);
  // Ends all requests and removes the socket. Blocks for a moment, or for a few seconds if the
  // autodist of a job is being asked and does not answer.
  ~Server();

  // The whole address with the token, which is all that a viewer needs. With a unix socket, it
  // names the port that is forwarded to the socket.
  const std::string& url() const { return url_; }
  // Only programs of this host can connect.
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
