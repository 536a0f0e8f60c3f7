#include "web/access.h"

#include <algorithm>

#include "base/random.h"

namespace autodist::web {
namespace {

// A page of another site or port sent it, other than by a link.
bool IsFromElsewhere(const http::Request& request) {
  const std::string site = request.header("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") return true;
  const std::string origin = request.header("Origin");
  return !origin.empty() && origin != "http://" + request.header("Host");
}

}  // namespace

bool IsSecret(std::string_view given, std::string_view secret) {
  unsigned char differs = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < secret.size(); ++i) {
    const char other = i < given.size() ? given[i] : '\0';
    differs = static_cast<unsigned char>(differs | (other ^ secret[i]));
  }
  return differs == 0;
}

std::string CookieOf(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const std::string_view pair = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(pair.size() + 1, header.size()));
    const std::string_view cookie = pair.substr(std::min(pair.find_first_not_of(' '), pair.size()));
    if (cookie.size() > name.size() && cookie.starts_with(name) && cookie[name.size()] == '=') {
      return std::string(cookie.substr(name.size() + 1));
    }
  }
  return "";
}

Access::Access(bool control)
    : control_(control),
      token_(base::RandomHex()),
      cookie_("autodist-" + base::RandomHex().substr(0, 8)) {}

http::Answer Access::LetIn(const http::Request& request) const {
  if (!IsSecret(request.Parameter("token"), token_)) {
    return http::Refusal(403, "Wrong token: open the address that this autodist printed.");
  }
  http::Answer answer{.status = 303, .body = "Continue at /\n"};
  // A browser that follows a redirect from another site's page would not send the new cookie.
  const bool by_link = request.header("Sec-Fetch-Site") == "cross-site";
  if (by_link) answer.status = 200;
  answer.headers = {{"Set-Cookie", cookie_ + "=" + token_ + "; HttpOnly; SameSite=Strict; Path=/"},
                    by_link ? std::pair("Refresh", "0; url=/") : std::pair("Location", "/")};
  return answer;
}

std::optional<http::Answer> Access::Check(const http::Request& request) const {
  if (request.method != "GET" && request.method != "POST") {
    return http::Refusal(405, "Only GET and POST are allowed.");
  }
  if (request.path == "/" && request.parameters.contains("token")) return LetIn(request);
  if (!IsSecret(CookieOf(request.header("Cookie"), cookie_), token_)) {
    return http::Refusal(403,
                         "The token is missing. Open the complete address that autodist printed.");
  }
  if (request.path != "/" && IsFromElsewhere(request)) {
    return http::Refusal(403, "Requests from other sites are refused.");
  }
  if (request.method == "GET") return std::nullopt;
  // A page from elsewhere cannot send this header without CORS permission.
  if (request.header("X-Autodist").empty())
    return http::Refusal(403, "Requests from other sites are refused.");
  if (!control_) {
    return http::Refusal(
        403,
        "This page is read-only: restart `autodist web` with --allow-actions, or `run` "
        "with --web-allow-actions.");
  }
  return std::nullopt;
}

}  // namespace autodist::web
