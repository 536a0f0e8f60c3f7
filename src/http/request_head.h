// The head of a request as its client sends it: reading it, within limits.
#pragma once

#include <cstddef>
#include <string_view>
#include <variant>

#include "http/message.h"

namespace autodist::http {

// Bytes of a head, with its blank line: a browser sends the cookies of all ports of a machine.
inline constexpr size_t kMaxHead = 16 << 10;
inline constexpr size_t kMaxHeaders = 32;

struct RequestHead {
  Request request;         // without `gone`
  bool is_head = false;    // the body of the answer is not to be sent
  bool may_chunk = false;  // the client understands chunks
  bool close = false;      // no request follows
};

// Bytes of the head that `input` begins with; 0: its end is not there yet.
size_t HeadSize(std::string_view input);

// `head` as HeadSize delimits it. A refusal for what is no request, for too many headers, and for a
// request with a body: none is read here.
std::variant<RequestHead, Answer> ReadHead(std::string_view head);

// The refusal of `input`, which holds kMaxHead bytes and no whole head.
Answer TooLarge(std::string_view input);

}  // namespace autodist::http
