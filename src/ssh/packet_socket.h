// The socket below an SSH session. It accepts every packet as a whole, so that libssh2 never has to
// resume a partly sent packet, which it cannot do during a key exchange that the server begins.
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
  // `fd` stays the caller's; `received` has already been read from it.
  PacketSocket(int fd, std::string received) : fd_(fd), received_(std::move(received)) {}

  // Like recv(2) and send(2), but return a negative errno value on failure. Send accepts
  // everything: data that do not fit into the socket are buffered.
  ssize_t Receive(void* to, size_t size);
  ssize_t Send(std::string_view packet);

  // Writes buffered data as far as there is room.
  void Flush();
  bool has_unsent() const { return sent_ < unsent_.size(); }
  // Returns the number of bytes read and written.
  uint64_t moved() const { return moved_; }

  // Returns the errno value with which the connection was lost; 0: not lost; -1: the other side has
  // closed it.
  int lost() const { return lost_; }
  // Shuts the connection down; no data pass afterwards.
  void HangUp();

 private:
  ssize_t Note(ssize_t moved);

  const int fd_;
  std::string received_;
  std::string unsent_;
  size_t sent_ = 0;  // bytes of unsent_
  uint64_t moved_ = 0;
  int lost_ = 0;
  bool hung_up_ = false;
};

}  // namespace autodist::ssh
