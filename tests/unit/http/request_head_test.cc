#include "http/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace autodist::http {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Parses the line with a Host header.
std::variant<RequestHead, Answer> Read(const std::string& line, const std::string& headers = "") {
  const std::string head = line + "\r\nHost: localhost\r\n" + headers + "\r\n";
  EXPECT_EQ(HeadSize(head + "GET"), head.size());
  return ReadHead(head);
}
RequestHead Good(const std::string& line, const std::string& headers = "") {
  auto read = Read(line, headers);
  const auto* head = std::get_if<RequestHead>(&read);
  EXPECT_TRUE(head) << line << headers;
  return head ? *head : RequestHead();
}
int Refused(const std::string& line, const std::string& headers = "") {
  const auto read = Read(line, headers);
  const auto* refusal = std::get_if<Answer>(&read);
  return refusal ? refusal->status : 200;
}

TEST(HeadSizeTest, IsTheSizeOfACompleteHead) {
  EXPECT_EQ(HeadSize(""), 0u);
  EXPECT_EQ(HeadSize("GET / HTTP/1.1\r\nHost: a\r\n"), 0u);
  EXPECT_EQ(HeadSize("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"), 18u);
}

TEST(ReadHeadTest, ParsesPathParametersAndHeaders) {
  const RequestHead head = Good("GET /api/a%2fb%zz+c?q=a+b%26%3D&x&q=2&=y&%41=z HTTP/1.1",
                                "Accept:  text/plain \r\nX-Two: 1\r\nx-two: 2\r\nCookie: a=1\r\n");
  EXPECT_EQ(head.request.method, "GET");
  EXPECT_EQ(head.request.path, "/api/a/b%zz+c");
  EXPECT_THAT(head.request.parameters,
              ElementsAre(Pair("", "y"), Pair("A", "z"), Pair("q", "a b&="), Pair("x", "")));
  EXPECT_EQ(head.request.header("accept"), "text/plain");
  EXPECT_EQ(head.request.header("X-TWO"), "1, 2");
  EXPECT_EQ(head.request.header("Cookie"), "a=1");
  EXPECT_EQ(head.request.header("Nothing"), "");
  EXPECT_TRUE(head.may_chunk && !head.close && !head.is_head);
}

TEST(ReadHeadTest, DeterminesHowTheAnswerIsSent) {
  EXPECT_TRUE(Good("HEAD / HTTP/1.1").is_head);
  EXPECT_EQ(Good("HEAD / HTTP/1.1").request.method, "GET");
  EXPECT_TRUE(Good("GET / HTTP/1.1", "Connection: Close\r\n").close);
  EXPECT_TRUE(Good("GET / HTTP/1.0").close);
  EXPECT_FALSE(Good("GET / HTTP/1.0").may_chunk);
}

TEST(ReadHeadTest, RefusesInvalidRequests) {
  for (const char* line :
       {"", "GET", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", "G(T / HTTP/1.1",
        "GET http://a/ HTTP/1.1", "AVERYLONGMETHODNAME / HTTP/1.1"}) {
    EXPECT_EQ(Refused(line), 400) << line;
  }
  EXPECT_EQ(Refused("GET / HTTP/2.0"), 505);
  for (const char* header : {"no colon\r\n", "a b: c\r\n", " folded: x\r\n", ": x\r\n",
                             "a: b\rc\r\n", "a: b\nc: d\r\n", "a: \x01\r\n", "Host: other\r\n"}) {
    EXPECT_EQ(Refused("GET / HTTP/1.1", header), 400) << header;
  }
}

TEST(ReadHeadTest, RefusesBodiesAndManyHeaders) {
  EXPECT_EQ(Refused("POST / HTTP/1.1", "Content-Length: 1\r\n"), 413);
  EXPECT_EQ(Refused("POST / HTTP/1.1", "Transfer-Encoding: chunked\r\n"), 413);
  EXPECT_EQ(Refused("POST / HTTP/1.1", "Content-Length: 0\r\n"), 200);
  std::string headers;
  for (size_t i = 1; i < kMaxHeaders; ++i) headers += "a" + std::to_string(i) + ": b\r\n";
  EXPECT_EQ(Refused("GET / HTTP/1.1", headers), 200);
  EXPECT_EQ(Refused("GET / HTTP/1.1", headers + "one: more\r\n"), 431);
}

TEST(TooLargeTest, NamesWhatIsTooLarge) {
  EXPECT_EQ(TooLarge("GET /" + std::string(kMaxHead, 'x')).status, 414);
  EXPECT_EQ(TooLarge("GET / HTTP/1.1\r\nX: " + std::string(kMaxHead, 'x')).status, 431);
}

}  // namespace
}  // namespace autodist::http
