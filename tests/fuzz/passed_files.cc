// libFuzzer: files between nodes. Whatever is said at the port of one, it gives what it was told to
// give, to those who know the question; whatever a port answers, whoever asks comes to an end. The
// first byte chooses.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>

#include "agent/sync/file_port.h"
#include "agent/sync/file_source.h"
#include "base/socket_address.h"
#include "fuzz/check.h"

namespace autodist::agent {
namespace {

constexpr std::chrono::seconds kLimit{5};
constexpr const char* kHere = "127.0.0.1";
const std::string kContent = "abcdefghij";

v1::SyncWords Words() {
  v1::SyncWords words;
  words.set_question(std::string(kWordSize, 'q'));
  words.set_answer(std::string(kWordSize, 'a'));
  return words;
}

FilePort::File FileOf(uint64_t number) {
  if (number % 2 != 0) return {};
  base::UniqueFd fd(memfd_create("file", MFD_CLOEXEC));
  Check(write(fd.get(), kContent.data(), kContent.size()) > 0, "write");
  return {std::move(fd), kContent.size()};
}

std::string Answers(const std::string& said) {
  if (said.substr(0, kWordSize) != Words().question()) return "";
  std::string answers = Words().answer();
  for (size_t i = kWordSize; i + kNumberSize <= said.size(); i += kNumberSize) {
    const bool there = NumberOf(said.substr(i, kNumberSize)) % 2 == 0;
    answers += there ? NumberAsBytes(kContent.size()) + kContent : NumberAsBytes(kNoSuchFile);
  }
  return answers;
}

void AtThePort(const std::string& said) {
  const auto port = *FilePort::Open(kHere, Words(), FileOf);
  base::UniqueFd guest(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const base::SocketAddress to(*base::IpAddress::Parse(kHere), port->port());
  Check(connect(guest.get(), to.get(), to.length()) == 0, "connect");
  // May be closed before all has been said.
  std::jthread saying([&] {
    (void)base::WriteAll(guest.get(), said, base::Deadline::After(kLimit)).ok();
    shutdown(guest.get(), SHUT_WR);
  });
  std::string heard;
  char buffer[4096];
  for (;;) {
    const auto got =
        base::ReadSome(guest.get(), buffer, sizeof buffer, base::Deadline::After(kLimit));
    if (!got.ok() || *got == 0) break;
    heard.append(buffer, *got);
  }
  // A connection that is broken off takes what is on its way with it.
  Check(Answers(said).starts_with(heard), "another answer");
}

void OfThePort(const std::string& answers) {
  const auto door = *base::Listen({*base::IpAddress::Parse(kHere), 0});
  std::jthread answering([&] {
    if (!base::WaitReadable(door.socket.get(), base::Deadline::After(kLimit)).ok()) return;
    const base::UniqueFd guest(accept(door.socket.get(), nullptr, nullptr));
    (void)base::WriteAll(guest.get(), answers, base::Deadline::After(kLimit)).ok();
  });
  v1::SyncSource there;
  there.set_address(kHere);
  there.set_port(door.address.port);
  *there.mutable_words() = Words();
  const auto go_on = [] { return true; };
  auto source = FileSource::Connect(there, go_on);
  if (!source.ok()) return;
  Check(answers.starts_with(Words().answer()), "something else is believed");
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
  data[0] & 1 ? autodist::agent::AtThePort(bytes) : autodist::agent::OfThePort(bytes);
  return 0;
}
