// Access control of the page: checks the token and whether actions are allowed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace autodist::web {

// Takes the same time wherever the two differ.
bool IsSecret(std::string_view given, std::string_view secret);

// Returns the value in the Cookie header; empty if it has no cookie of this name.
std::string CookieOf(std::string_view header, std::string_view name);

// Expects requests whose Host header http::Server has checked. Thread-safe; does not block.
class Access {
 public:
  // `control`: whether viewers may stop jobs and collect stacks.
  explicit Access(bool control);

  const std::string& token() const { return token_; }
  bool control() const { return control_; }

  // Returns an answer if the request must not be handled: a refusal or, for an address with the
  // token, a redirect to the page that sets a cookie.
  std::optional<http::Answer> Check(const http::Request& request) const;

 private:
  http::Answer LetIn(const http::Request& request) const;

  const bool control_;
  const std::string token_;
  const std::string cookie_;  // The name of the cookie; ports of the same host share cookies.
};

}  // namespace autodist::web
