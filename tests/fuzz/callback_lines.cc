// libFuzzer: a line from a node that connects back is refused, or is equal to the line written from
// the parsed one; only the key makes a session.
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "check.h"
#include "rpc/callback_lines.h"
#include "secure/key.h"
#include "secure/session.h"

namespace autodist {
namespace {

void CheckLine(std::string_view text) {
  const auto line = rpc::CallbackLine::FromLine(text);
  if (!line) return;
  std::string written = line->ToLine();
  written.pop_back();
  const auto again = rpc::CallbackLine::FromLine(written);
  Check(again && again->kind == line->kind && again->id == line->id && again->texts == line->texts,
        "a line that is not what it was read as");
}

void CheckIdentity(std::string_view text) {
  const auto identity = rpc::CallbackIdentity::FromText(text);
  Check(!identity || identity->ToText() == text, "an identity that is not what it was read as");
}

void CheckHandshake(std::string_view text) {
  static const secure::Key key = secure::Key::Random();
  auto sockets = base::StreamSocketPair();
  if (!sockets.ok()) return;
  (void)base::WriteAll(sockets->first.get(), text.substr(0, 8192), base::Deadline::Never());
  shutdown(sockets->first.get(), SHUT_WR);
  const auto session =
      secure::Session::OfServer(std::move(sockets->second), [](std::string_view) { return key; });
  Check(session->Handshake() == secure::Progress::kBroken, "a session without the key");
}

}  // namespace
}  // namespace autodist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  autodist::CheckLine(text);
  autodist::CheckIdentity(text);
  (void)autodist::secure::NodeKeyIn(text, "node");
  autodist::CheckHandshake(text);
  return 0;
}
