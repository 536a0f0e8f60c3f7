// A request and its answer, as those see them who answer: nothing of the library that speaks HTTP.
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
  std::string method;  // "GET", "POST"; HEAD is a GET whose answer's body is not sent
  std::string path;
  std::map<std::string, std::string> parameters = {};
  std::function<std::string(const char* name)> header;  // empty: there is none
  std::function<bool()> gone;                           // nobody waits for the answer any more

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
  // Where there is one it makes the body, piece by piece: called on the thread of the connection,
  // blocks until there is something to send. Null: that was all.
  std::function<Piece()> next = {};
};

// A refusal, in a sentence.
inline Answer Refusal(int status, std::string why) {
  return {.status = status, .body = std::move(why) + "\n"};
}

}  // namespace autodist::http
