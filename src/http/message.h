// Requests and answers as handlers use them, independent of the HTTP implementation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace autodist::http {

struct Request {
  std::string method;  // "GET", "POST"; HEAD becomes GET, without a body in the answer
  std::string path;
  std::map<std::string, std::string> parameters = {};
  std::function<std::string(const char* name)> header;  // empty: no such header
  std::function<bool()> gone;                           // the client no longer waits for the answer

  std::string Parameter(const std::string& name) const {
    const auto found = parameters.find(name);
    return found == parameters.end() ? "" : found->second;
  }
};

struct Answer {
  using Piece = std::shared_ptr<const std::string>;

  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // If set, produces the body in pieces: called on the connection's thread, blocks until a piece is
  // ready. Null: the end.
  std::function<Piece()> next = {};
};

// A refusal with one sentence.
inline Answer Refusal(int status, std::string why) {
  return {.status = status, .body = std::move(why) + "\n"};
}

}  // namespace autodist::http
