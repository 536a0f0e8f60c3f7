#include "http/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <utility>

namespace autodist::http {
namespace {

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
