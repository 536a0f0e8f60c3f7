#include "http/connection.h"

#include <absl/strings/ascii.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host_name.h"
#include "base/split.h"

namespace autodist::http {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr size_t kMaxMethod = 16;  // bytes

using Headers = std::map<std::string, std::string, std::less<>>;  // names in lower case

bool IsTokenCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsTokenCharacter);
}

std::optional<unsigned char> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned char>(c - '0');
  const char small = absl::ascii_tolower(static_cast<unsigned char>(c));
  if (small >= 'a' && small <= 'f') return static_cast<unsigned char>(small - 'a' + 10);
  return std::nullopt;
}

// Percent signs that encode no byte stay unchanged.
std::string Decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : std::nullopt;
    const auto low = high ? HexDigit(text[i + 2]) : std::nullopt;
    if (low) {
      decoded += static_cast<char>(*high << 4 | *low);
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

// "/path?name=value&…"
void ReadTarget(std::string_view target, Request& request) {
  const size_t path_end = std::min(target.find('?'), target.size());
  request.path = Decoded(target.substr(0, path_end), false);
  if (path_end == target.size()) return;
  for (const std::string_view pair : base::Split(target.substr(path_end + 1), '&')) {
    if (pair.empty()) continue;
    const size_t name_end = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(name_end + 1, pair.size()));
    request.parameters.try_emplace(Decoded(pair.substr(0, name_end), true), Decoded(value, true));
  }
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// False: the line is not a header, or repeats one that must be unique.
bool AddHeader(std::string_view line, Headers& headers) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return false;
  const std::string_view value = Trimmed(line.substr(colon + 1));
  const auto is_control = [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\t';
  };
  if (std::ranges::any_of(value, is_control)) return false;
  const std::string name = absl::AsciiStrToLower(std::string(line.substr(0, colon)));
  const auto [entry, first] = headers.try_emplace(name, std::string(value));
  if (first) return true;
  if (name == "host" || name == "content-length") return false;
  entry->second += (name == "cookie" ? "; " : ", ") + std::string(value);
  return true;
}

std::string ValueOf(const Headers& headers, std::string_view name) {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

bool HasBody(const Headers& headers) {
  const std::string length = ValueOf(headers, "content-length");
  return (!length.empty() && length != "0") || headers.contains("transfer-encoding");
}

Answer NoRequest() { return Refusal(400, "Not an HTTP/1.1 request."); }

// "[::1]:80" → "::1", "a:80" → "a".
std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    return end == std::string_view::npos ? "" : host.substr(1, end - 1);
  }
  return host.substr(0, host.rfind(':'));
}

using base::Deadline;

// Limits for a client that accepts no data, and for accepting a whole body or one piece of it.
constexpr std::chrono::seconds kWriteLimit{5};
constexpr std::chrono::seconds kPieceLimit{10};

constexpr std::pair<int, const char*> kReasons[] = {{200, "OK"},
                                                    {303, "See Other"},
                                                    {400, "Bad Request"},
                                                    {403, "Forbidden"},
                                                    {404, "Not Found"},
                                                    {405, "Method Not Allowed"},
                                                    {413, "Content Too Large"},
                                                    {414, "URI Too Long"},
                                                    {431, "Request Header Fields Too Large"},
                                                    {500, "Internal Server Error"},
                                                    {502, "Bad Gateway"},
                                                    {503, "Service Unavailable"},
                                                    {505, "HTTP Version Not Supported"}};

std::string HeadOf(const Answer& answer, const std::string& framing, bool close) {
  const auto reason =
      std::ranges::find(kReasons, answer.status, [](auto& row) { return row.first; });
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " " +
                     (reason == std::end(kReasons) ? "" : reason->second) + "\r\n";
  for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
  head += "Content-Type: " + answer.type + "\r\n" + framing;
  return head + (close ? "Connection: close\r\n\r\n" : "\r\n");
}

std::string Length(const Answer& answer) {
  return "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
}

// The line before a chunk of this size.
std::string ChunkLine(size_t size) {
  char text[2 * sizeof size];
  const auto end = std::to_chars(std::begin(text), std::end(text), size, 16).ptr;
  return std::string(text, end) + "\r\n";
}

}  // namespace

size_t HeadSize(std::string_view input) {
  const size_t end = input.find(kHeadEnd);
  return end == std::string_view::npos ? 0 : end + kHeadEnd.size();
}

std::variant<RequestHead, Answer> ReadHead(std::string_view head) {
  head.remove_suffix(kLineEnd.size());
  std::vector<std::string_view> lines = base::Split(head, '\n');
  lines.pop_back();  // the empty text after the last line end
  for (std::string_view& line : lines) {
    if (!line.ends_with('\r')) return NoRequest();
    line.remove_suffix(1);
  }
  if (lines.size() - 1 > kMaxHeaders) return Refusal(431, "Too many headers.");
  const std::vector<std::string_view> words = base::Split(lines[0], ' ');
  if (words.size() != 3 || !IsToken(words[0]) || words[0].size() > kMaxMethod ||
      !words[1].starts_with('/')) {
    return NoRequest();
  }
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0") {
    return Refusal(505, "Only HTTP/1.1 is supported.");
  }
  Headers headers;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (!AddHeader(lines[i], headers)) return NoRequest();
  }
  if (HasBody(headers)) return Refusal(413, "Requests with a body are not supported.");
  RequestHead made;
  made.is_head = words[0] == "HEAD";
  made.may_chunk = words[2] == "HTTP/1.1";
  const std::string after = absl::AsciiStrToLower(ValueOf(headers, "connection"));
  made.close = !made.may_chunk || after.find("close") != after.npos;
  made.request.method = made.is_head ? "GET" : std::string(words[0]);
  ReadTarget(words[1], made.request);
  made.request.header = [headers = std::move(headers)](const char* name) {
    return ValueOf(headers, absl::AsciiStrToLower(name));
  };
  return made;
}

Answer TooLarge(std::string_view input) {
  return input.find(kLineEnd) == std::string_view::npos
             ? Refusal(414, "The address is too long.")
             : Refusal(431, "The headers are too large.");
}

bool IsOurHost(std::string_view header, const std::optional<base::IpAddress>& listening) {
  const std::string host = absl::AsciiStrToLower(std::string(WithoutPort(header)));
  const auto address = base::IpAddress::Parse(host);
  // Also for a forwarded port.
  if (host == "localhost" || (address && address->IsLoopback())) return true;
  if (!listening || listening->IsLoopback()) return false;
  const std::string own = absl::AsciiStrToLower(base::HostName());
  return address || (!host.empty() && (host == own || host == own.substr(0, own.find('.'))));
}

void Connection::Abort() { shutdown(socket_.get(), SHUT_RDWR); }

bool Connection::Receive() {
  char buffer[4096];
  const bool closing = state == State::kClosing;
  const size_t room = closing ? sizeof buffer : std::min(sizeof buffer, kMaxHead - input.size());
  const ssize_t got = recv(socket_.get(), buffer, room, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  AwaitsClient();
  if (!closing) input.append(buffer, static_cast<size_t>(got));
  return true;
}

bool Connection::Gone() const {
  char byte = 0;
  const ssize_t got = recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

bool Connection::SendAll(std::string_view data) {
  const Deadline end = Deadline::After(kPieceLimit);
  while (!data.empty()) {
    // before the client can react, so that times of several clients keep their order
    AwaitsClient();
    const ssize_t sent = send(socket_.get(), data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      data.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return false;
    pollfd entry{socket_.get(), POLLOUT, 0};
    const Deadline limit = std::min(end, Deadline::After(kWriteLimit));
    if (poll(&entry, 1, limit.PollTimeout()) == 0 || end.Expired()) return false;
  }
  return true;
}

bool Connection::SendPieces(const std::function<Answer::Piece()>& next, bool chunked) {
  for (;;) {
    AwaitsHandler();
    const Answer::Piece piece = next();
    if (!piece) break;
    if (piece->empty()) continue;  // an empty chunk would end the body
    const std::string begin = chunked ? ChunkLine(piece->size()) : "";
    if (!SendAll(begin + *piece + (chunked ? "\r\n" : ""))) return false;
  }
  return !chunked || SendAll("0\r\n\r\n");
}

bool Connection::Send(const Answer& answer, const RequestHead& request) {
  streams_ = static_cast<bool>(answer.next);
  if (!answer.next) {
    const std::string head = HeadOf(answer, Length(answer), request.close);
    if (request.is_head) return SendAll(head);
    constexpr size_t kTogether = 16 << 10;  // bytes that are sent in one or few packets
    if (answer.body.size() <= kTogether) return SendAll(head + answer.body);
    return SendAll(head) && SendAll(answer.body);
  }
  const std::string framing = request.may_chunk ? "Transfer-Encoding: chunked\r\n" : "";
  return SendAll(HeadOf(answer, framing, request.close)) &&
         (request.is_head || SendPieces(answer.next, request.may_chunk));
}

void Connection::SendAtOnce(const Answer& answer, bool with_body) {
  const std::string text =
      HeadOf(answer, Length(answer), true) + (with_body ? answer.body : std::string());
  (void)send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace autodist::http
