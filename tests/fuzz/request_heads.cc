// libFuzzer: the head of any request is read or refused, and the buffered data stays within its
// limit.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "fuzz/check.h"
#include "http/connection.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autodist;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view input = all.substr(0, http::kMaxHead);
  const size_t head_size = http::HeadSize(input);
  Check(head_size <= input.size(), "a head is larger than the input");
  if (head_size == 0) {
    Check(http::TooLarge(input).status >= 400, "what is too large is not refused");
    return 0;
  }
  const auto read = http::ReadHead(input.substr(0, head_size));
  if (const auto* refusal = std::get_if<http::Answer>(&read)) {
    Check(refusal->status >= 400 && !refusal->next, "a refusal is none");
    return 0;
  }
  const http::Request& request = std::get<http::RequestHead>(read).request;
  Check(!request.method.empty() && request.path.starts_with('/'), "a request asks for nothing");
  Check(request.path.size() + request.parameters.size() <= head_size, "a request grows");
  for (const char* name : {"host", "Cookie", "origin", "x-autodist"}) {
    const std::string value = request.header(name);
    Check(value.size() <= head_size, "a header grows");
    Check(std::ranges::none_of(value, [](char c) { return c == '\r' || c == '\n' || c == '\0'; }),
          "a header has two lines");
  }
  (void)http::IsOurHost(request.header("Host"), base::IpAddress::Parse("127.0.0.1"));
  return 0;
}
