#include "web/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::web {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

struct Asked {
  std::string method = "GET";
  std::string path = "/";
  std::map<std::string, std::string> parameters = {};
  std::map<std::string, std::string> headers = {};

  http::Request Make() const {
    return {.method = method,
            .path = path,
            .parameters = parameters,
            .header =
                [sent = headers](const char* name) {
                  const auto found = sent.find(name);
                  return found == sent.end() ? "" : found->second;
                },
            .gone = [] { return false; }};
  }
};

std::string HeaderOf(const http::Answer& answer, const std::string& name) {
  for (const auto& [key, value] : answer.headers) {
    if (key == name) return value;
  }
  return "";
}

class AccessTest : public testing::Test {
 protected:
  // The request of an admitted browser.
  Asked LetIn(const Access& access) {
    const auto answer = access.Check(Asked{
        .parameters = {{"token", access.token()}},
        .headers = {
            {"Host", "localhost"}}}.Make());
    const std::string cookie = HeaderOf(*answer, "Set-Cookie");
    return {.path = "/api/jobs",
            .headers = {{"Host", "localhost"},
                        {"Cookie", "other=1; " + cookie.substr(0, cookie.find(';'))}}};
  }
  int StatusOf(const Access& access, const Asked& asked) {
    const auto answer = access.Check(asked.Make());
    return answer ? answer->status : 200;
  }
};

TEST(IsSecretTest, ComparesSecrets) {
  EXPECT_TRUE(IsSecret("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "abcd", "bbc"}) EXPECT_FALSE(IsSecret(other, "abc"));
}

TEST(CookieOfTest, FindsACookieByName) {
  EXPECT_EQ(CookieOf("a=1; autodist-1=x=y; b=2", "autodist-1"), "x=y");
  EXPECT_EQ(CookieOf("autodist-12=x", "autodist-1"), "");
  EXPECT_EQ(CookieOf("xautodist-1=x", "autodist-1"), "");
  EXPECT_EQ(CookieOf("", "autodist-1"), "");
  EXPECT_EQ(CookieOf(";;  ; autodist-1=", "autodist-1"), "");
}

TEST_F(AccessTest, ATokenBecomesACookieOfThisServer) {
  const Access access(false);
  EXPECT_EQ(access.token().size(), 32);
  const auto answer = access.Check(Asked{
      .parameters = {{"token", access.token()}},
      .headers = {
          {"Host", "127.0.0.1:1"}}}.Make());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 303);
  EXPECT_EQ(HeaderOf(*answer, "Location"), "/");
  EXPECT_THAT(HeaderOf(*answer, "Set-Cookie"), HasSubstr("; HttpOnly; SameSite=Strict"));
  EXPECT_EQ(StatusOf(access, LetIn(access)), 200);
  EXPECT_EQ(StatusOf(Access(false), LetIn(access)), 403);
}

TEST_F(AccessTest, ALinkFromAnotherSiteIsReloaded) {
  const Access access(false);
  const auto answer =
      access.Check(Asked{.parameters = {{"token", access.token()}},
                         .headers = {{"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}}}
                       .Make());
  EXPECT_EQ(answer->status, 200);
  EXPECT_THAT(answer->headers, Contains(Pair("Refresh", "0; url=/")));
}

TEST_F(AccessTest, RefusesWithoutTheTokenAndWithAWrongOne) {
  const Access access(true);
  EXPECT_EQ(StatusOf(access, {.headers = {{"Host", "localhost"}}}), 403);
  EXPECT_EQ(StatusOf(access, {.path = "/page.js", .headers = {{"Host", "localhost"}}}), 403);
  EXPECT_EQ(StatusOf(access, {.parameters = {{"token", std::string(32, '0')}},
                              .headers = {{"Host", "localhost"}}}),
            403);
}

TEST_F(AccessTest, PagesOfOtherOriginsAreRefused) {
  const Access access(true);
  for (const auto& [name, value] : {std::pair("Sec-Fetch-Site", "cross-site"),
                                    {"Sec-Fetch-Site", "same-site"},
                                    {"Origin", "http://localhost:1"}}) {
    Asked asked = LetIn(access);
    asked.headers[name] = value;
    EXPECT_EQ(StatusOf(access, asked), 403) << value;
  }
  Asked own = LetIn(access);
  own.headers["Origin"] = "http://localhost";
  EXPECT_EQ(StatusOf(access, own), 200);
}

TEST_F(AccessTest, ActionsNeedPermissionAndAHeaderOfThePage) {
  for (const bool control : {false, true}) {
    const Access access(control);
    Asked stop = LetIn(access);
    stop.method = "POST";
    stop.path = "/api/stop";
    EXPECT_EQ(StatusOf(access, stop), 403);
    stop.headers["X-Autodist"] = "1";
    EXPECT_EQ(StatusOf(access, stop), control ? 200 : 403);
    stop.method = "DELETE";
    EXPECT_EQ(StatusOf(access, stop), 405);
  }
}

}  // namespace
}  // namespace autodist::web
