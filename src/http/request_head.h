// Reads the head of a request, within limits.
#pragma once

#include <cstddef>
#include <string_view>
#include <variant>

#include "http/message.h"

namespace autodist::http {

// Max bytes of a head with its blank line: a browser sends the cookies of all ports of a host.
inline constexpr size_t kMaxHead = 16 << 10;
inline constexpr size_t kMaxHeaders = 32;

struct RequestHead {
  Request request;         // without `gone`
  bool is_head = false;    // the answer must have no body
  bool may_chunk = false;  // the client supports chunked encoding
  bool close = false;      // no request follows
};

// Bytes of the head at the beginning of `input`; 0: it is incomplete.
size_t HeadSize(std::string_view input);

// `head` as delimited by HeadSize. Refuses malformed requests, too many headers, and requests with
// a body, which this server does not read.
std::variant<RequestHead, Answer> ReadHead(std::string_view head);

// The refusal of `input`, which has kMaxHead bytes without a whole head.
Answer TooLarge(std::string_view input);

}  // namespace autodist::http
