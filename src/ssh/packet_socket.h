// The socket below an SSH session: takes every packet whole, so that libssh2 never has a part of
// one left to send, which it could not do in a key exchange that the server begins then.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace autodist::ssh {

// For one thread; never blocks.
class PacketSocket {
 public:
  // `fd` stays the caller's; `received`: what has been read from it already.
  PacketSocket(int fd, std::string received) : fd_(fd), received_(std::move(received)) {}

  // As recv(2) and send(2), with the negative errno value of a failure. Send takes all there is:
  // what the socket has no room for waits here.
  ssize_t Receive(void* to, size_t size);
  ssize_t Send(std::string_view packet);

  // Writes what waits, as far as there is room.
  void Flush();
  bool has_unsent() const { return sent_ < unsent_.size(); }
  // Bytes that the socket has given and taken.
  uint64_t moved() const { return moved_; }

  // The errno value that the connection was lost by; 0: it was not, -1: the other side has ended
  // it.
  int lost() const { return lost_; }
  // Tells the other side; nothing goes through any more.
  void HangUp();

 private:
  ssize_t Note(ssize_t moved);

  const int fd_;
  std::string received_;
  std::string unsent_;
  size_t sent_ = 0;  // of unsent_
  uint64_t moved_ = 0;
  int lost_ = 0;
  bool hung_up_ = false;
};

}  // namespace autodist::ssh
