// The lies in Sync about files that one node passes on to others.
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "agent/sync/file_port.h"
#include "base/listen_address.h"
#include "hostile/liar.h"
#include "support/secure_peer.h"
#include "support/xxh3_twin.h"

namespace autodist::hostile {
namespace {

// Answers once; the ranks must not keep the job alive.
template <void (*answer)(const SyncOrder& order)>
void InPassingOn(Behaviour& behaviour) {
  behaviour.relay = answer;
  behaviour.when_started = NoWayToEnd;
}
void TellPort(const SyncOrder& order, uint32_t port, int times = 1) {
  v1::SyncResponse response;
  response.mutable_passing_on()->set_address(order.request.relay().node().data_address());
  response.mutable_passing_on()->set_port(port);
  for (int i = 0; i < times; ++i) order.write(response);
}
void AtAnImpossiblePort(const SyncOrder& order) { TellPort(order, 99'999); }
void AtTwoPorts(const SyncOrder& order) { TellPort(order, 9, 2); }
void Elsewhere(const SyncOrder& order) { TellPort(order, 9); }
void AtNoAddress(const SyncOrder& order) {
  v1::SyncResponse response;
  response.mutable_passing_on()->set_address("\033[2J" + std::string(kMiB / 2, 'a'));
  response.mutable_passing_on()->set_port(9);
  order.write(response);
}
void NeverPassesOn(const SyncOrder&) { Forever(); }
// Serves the content that `content_of` makes from the size of a file.
template <std::string (*content_of)(uint64_t size)>
void Files(const SyncOrder& order) {
  static std::unique_ptr<agent::FilePort> port;
  auto opened = agent::FilePort::Open(
      order.request.relay().node().data_address(),
      *secure::Key::FromHex(order.request.relay().key()),
      [entries = order.entries](uint64_t number) {
        base::UniqueFd fd(memfd_create("file", MFD_CLOEXEC));
        const uint64_t size = entries.at(number).size();
        (void)base::WriteAll(fd.get(), content_of(size), base::Deadline::Never()).ok();
        return agent::FilePort::File{std::move(fd), size};
      });
  if (!opened.ok()) std::abort();
  port = *std::move(opened);
  TellPort(order, port->port());
}
std::string OfTheRightSize(uint64_t size) { return std::string(size, 'w'); }
// A file with the same digest as the test's file, "contentcontent..." of some size.
std::string Twin(uint64_t size) {
  std::string content;
  while (content.size() < size) content += "content";
  return test::TwinOf(content, std::string(896, 'E'));
}
// Sends a byte now and then, so that the connection is never silent.
void FilesWithoutEnd(const SyncOrder& order) {
  const auto& relay = order.request.relay();
  static base::Listening door =
      *base::Listen({*base::IpAddress::Parse(relay.node().data_address()), 0});
  std::thread([key = *secure::Key::FromHex(relay.key()), size = order.entries.back().size()] {
    pollfd waiting{door.socket.get(), POLLIN, 0};
    poll(&waiting, 1, -1);
    const auto guest =
        secure::Session::OfServer(base::UniqueFd(accept(door.socket.get(), nullptr, nullptr)),
                                  [&](std::string_view) { return key; });
    if (!test::ShakeHands(*guest)) std::abort();
    test::SendAll(*guest, agent::NumberAsBytes(size));
    while (test::SendAll(*guest, "w")) std::this_thread::sleep_for(std::chrono::seconds(1));
  }).detach();
  TellPort(order, door.address.port);
}
template <void (*answer)(const SyncOrder& order)>
void InGetting(Behaviour& behaviour) {
  behaviour.sync = [](uint64_t entries, const auto& write) {
    v1::SyncResponse response;
    response.mutable_differences()->add_wanted(entries - 1);
    response.mutable_differences()->set_last(true);
    write(response);
  };
  behaviour.get_passed = answer;
  behaviour.when_started = NoWayToEnd;
}
void MissesWhatThereIsNot(const SyncOrder& order) {
  v1::SyncResponse response;
  response.mutable_unavailable()->add_entries(order.entries.size());
  order.write(response);
}
void MissesWithoutEnd(const SyncOrder& order) {
  v1::SyncResponse response;
  response.mutable_unavailable()->add_entries(order.entries.size() - 1);
  while (order.write(response)) {
  }
}
void MissesWhatItDidNotAskFor(const SyncOrder& order) {
  v1::SyncResponse response;
  for (uint64_t i = 0; i < order.entries.size(); ++i)
    response.mutable_unavailable()->add_entries(i);
  order.write(response);
}

}  // namespace

const std::vector<Lie>& PassingOnLies() {
  static const std::vector<Lie> lies = {
      {"passes_on_at_an_impossible_port", InPassingOn<AtAnImpossiblePort>},
      {"passes_on_at_two_ports", InPassingOn<AtTwoPorts>},
      {"passes_on_at_no_address", InPassingOn<AtNoAddress>},
      {"passes_on_elsewhere", InPassingOn<Elsewhere>},
      {"passes_on_wrong_files", InPassingOn<Files<OfTheRightSize>>},
      {"passes_on_a_twin", InPassingOn<Files<Twin>>},
      {"passes_on_without_end", InPassingOn<FilesWithoutEnd>},
      {"passes_on_never", InPassingOn<NeverPassesOn>},
      {"misses_what_there_is_not", InGetting<MissesWhatThereIsNot>},
      {"misses_without_end", InGetting<MissesWithoutEnd>},
      {"misses_what_it_did_not_ask_for", InGetting<MissesWhatItDidNotAskFor>},
  };
  return lies;
}

}  // namespace autodist::hostile
