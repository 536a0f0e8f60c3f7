// libFuzzer: files between nodes. A port serves exactly its files, and only to clients that know
// the key; a client ends whatever the port answers. The first byte chooses the side, and whether
// the data is encrypted with that key.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "agent/sync/file_port.h"
#include "base/socket_address.h"
#include "fuzz/check.h"
#include "support/secure_peer.h"

namespace autodist::agent {
namespace {

constexpr std::chrono::seconds kLimit{5};
constexpr const char* kHere = "127.0.0.1";
const std::string kContent = "abcdefghij";

const secure::Key& TheKey() {
  static const secure::Key key = secure::Key::Random();
  return key;
}

FilePort::File FileOf(uint64_t number) {
  if (number % 2 != 0) return {};
  base::UniqueFd fd(memfd_create("file", MFD_CLOEXEC));
  Check(write(fd.get(), kContent.data(), kContent.size()) > 0, "write");
  return {std::move(fd), kContent.size()};
}

std::string Answers(const std::string& said) {
  std::string answers;
  for (size_t i = 0; i + kNumberSize <= said.size(); i += kNumberSize) {
    const bool there = NumberOf(said.substr(i, kNumberSize)) % 2 == 0;
    answers += there ? NumberAsBytes(kContent.size()) + kContent : NumberAsBytes(kNoSuchFile);
  }
  return answers;
}

base::UniqueFd ConnectTo(uint16_t port) {
  base::UniqueFd guest(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const base::SocketAddress to(*base::IpAddress::Parse(kHere), port);
  Check(connect(guest.get(), to.get(), to.length()) == 0, "connect");
  return guest;
}

void AtThePort(const std::string& said) {
  const auto port = *FilePort::Open(kHere, TheKey(), FileOf);
  const auto guest = secure::Session::OfClient(ConnectTo(port->port()), "node", TheKey());
  Check(test::ShakeHands(*guest), "a client that knows the key is let in");
  guest->Write(said);
  guest->WriteEnd();
  // A broken connection may lose data on the way.
  Check(test::SendAll(*guest, "") && Answers(said).starts_with(test::AllOf(*guest)),
        "another answer");
}

void InClear(const std::string& said) {
  const auto port = *FilePort::Open(kHere, TheKey(), FileOf);
  const base::UniqueFd stranger = ConnectTo(port->port());
  (void)base::WriteAll(stranger.get(), said, base::Deadline::After(kLimit)).ok();
  shutdown(stranger.get(), SHUT_WR);
  char buffer[4096];
  const auto got =
      base::ReadSome(stranger.get(), buffer, sizeof buffer, base::Deadline::After(kLimit));
  Check(!got.ok() || *got == 0, "a stranger is answered");
}

void OfThePort(const std::string& answers, bool in_clear) {
  const auto door = *base::Listen({*base::IpAddress::Parse(kHere), 0});
  std::jthread answering([&] {
    if (!base::WaitReadable(door.socket.get(), base::Deadline::After(kLimit)).ok()) return;
    base::UniqueFd guest(accept(door.socket.get(), nullptr, nullptr));
    if (in_clear) {
      (void)base::WriteAll(guest.get(), answers, base::Deadline::After(kLimit)).ok();
      return;
    }
    const auto session =
        secure::Session::OfServer(std::move(guest), [](std::string_view) { return TheKey(); });
    if (test::ShakeHands(*session)) test::SendAll(*session, answers);
  });
  v1::SyncSource there;
  there.set_address(kHere);
  there.set_port(door.address.port);
  there.set_key(TheKey().ToHex());
  const auto go_on = [] { return true; };
  auto source = FileSource::Connect(there, go_on);
  Check(!in_clear || !source.ok(), "something else is believed");
  if (!source.ok()) return;
  std::string content;
  for (const uint64_t size : {uint64_t{10}, uint64_t{0}, uint64_t{100'000}}) {
    content.clear();
    const auto take = [&](std::string_view piece) {
      content += piece;
      Check(content.size() <= size, "more than there is");
      return true;
    };
    const Status came = source->Get(2, size, take, go_on);
    if (came.ok()) Check(content.size() == size, "a part of a file");
    if (!came.ok() && came.code() != StatusCode::kNotFound) return;
  }
}

}  // namespace
}  // namespace autodist::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool in_clear = (data[0] & 2) != 0;
  if ((data[0] & 1) == 0) {
    autodist::agent::OfThePort(bytes, in_clear);
  } else if (in_clear) {
    autodist::agent::InClear(bytes);
  } else {
    autodist::agent::AtThePort(bytes);
  }
  return 0;
}
