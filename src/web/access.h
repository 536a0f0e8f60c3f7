// Who may look, and who may do more than that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace autodist::web {

// In a time that tells nothing of where they differ.
bool IsSecret(std::string_view given, std::string_view secret);

// Of the Cookie header; empty: there is none of this name.
std::string CookieOf(std::string_view header, std::string_view name);

// Of requests whose Host header http::Server has checked. Thread-safe; does not block.
class Access {
 public:
  // `control`: whether anything may be changed.
  explicit Access(bool control);

  const std::string& token() const { return token_; }
  bool control() const { return control_; }

  // What the request is answered if not by what it asks for: a refusal, or, where it has the token
  // in its address, a cookie instead, and the way to the page.
  std::optional<http::Answer> Check(const http::Request& request) const;

 private:
  http::Answer LetIn(const http::Request& request) const;

  const bool control_;
  const std::string token_;
  const std::string
      cookie_;  // its name: other ports of this machine have cookies in common with us
};

}  // namespace autodist::web
