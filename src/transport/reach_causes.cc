#include "transport/reach_causes.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cctype>

#include "base/for_user.h"
#include "base/node_is_down.h"
#include "base/quantity.h"
#include "base/split.h"
#include "base/utf8.h"

namespace autodist::transport {
namespace {

// Lines of ssh about the connection may also follow others, so they come late.
constexpr const Cause* kInTexts[] = {
    &cause::kOldSsh,
    &cause::kNotPlainText,
    &cause::kUnknownOption,
    &cause::kConfigPermissions,
    &cause::kWrongConfigLine,
    &cause::kSilentNameService,
    &cause::kUnknownName,
    &cause::kNoCommonKeyExchange,
    &cause::kNoCommonHostKeyType,
    &cause::kNoCommonCipher,
    &cause::kNoCommonMac,
    &cause::kNoCommonAlgorithm,
    &cause::kSshChangedHostKey,
    &cause::kRevokedHostKey,
    &cause::kRevokedKeysInHome,
    &cause::kNoRevokedKeys,
    &cause::kSshUnknownHostKey,
    &cause::kOtherMethod,
    &cause::kSshKeyRefused,
    &cause::kTooManyKeys,
    &cause::kRefused,
    &cause::kSshHostSilent,
    &cause::kSshNoRoute,
    &cause::kSshSilentServer,
    &cause::kSshTimeout,
    &cause::kSshOtherServer,
    &cause::kBusy,
    &cause::kJumpHostForbids,
    &cause::kJumpHostFails,
    &cause::kJumpHostRefuses,
    &cause::kJumpHostUnreachable,
    &cause::kOtherUser,
    &cause::kPasswordExpired,
    &cause::kAccountClosed,
    &cause::kNoJobOnNode,
    &cause::kNoLogins,
    &cause::kMaintenance,
    &cause::kNeedsTerminal,
};

constexpr const Cause* kOfDownNodes[] = {
    &cause::kConnectTimeout, &cause::kSshTimeout,    &cause::kRefused,
    &cause::kHostSilent,     &cause::kSshHostSilent, &cause::kNotConnected,
    &cause::kJumpHostFails,  &cause::kNoLogins,      &cause::kMaintenance,
};

constexpr size_t kMaxSentence = 300;  // bytes
constexpr size_t kMaxShown = 500;     // bytes of what a login shell prints

// Where the user sets the port of a node's sshd.
std::string PlacesOfPort() {
  return base::ForUser(
      "the port ([spec|in the node's `address`; if it has none, `port` in its ssh group; else ]"
      "[init|--port; without it, ]Port in ~/.ssh/config)");
}

struct Shown {
  const Cause* row = nullptr;
  std::string_view before;  // the text before the evidence's line
  std::string_view line;    // the text from there on
  std::string_view rest;    // after the evidence
};

// Returns the name in a cloud image's `user "ubuntu" rather than the user "root".`, or "".
std::string UserIn(std::string_view rest) {
  constexpr size_t kMaxUser = 32;
  if (base::FirstLine(rest).find("rather than") == rest.npos) return "";
  base::TakePrefix(rest, "user ");
  rest.remove_prefix(std::min(rest.find_first_not_of("\"'`"), rest.size()));
  const auto end = std::ranges::find_if_not(rest, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  const std::string user(rest.begin(), end);
  // cloud-init writes NONE for an unknown name.
  return user != "NONE" && user.size() <= kMaxUser ? user : "";
}

// Whether a sentence that begins so is about other cases or times: a text for everyone says "If
// your password has expired, call 4711".
bool IsGeneral(std::string_view begin) {
  const size_t before = begin.find_last_of(".:;!\n");
  if (before != begin.npos) begin.remove_prefix(before + 1);
  const std::string padded = " " + std::string(begin);
  constexpr std::string_view kGeneral[] = {" if ",   " when ",   " once ",     " after ",
                                           " will ", " unless ", " whenever ", " no "};
  return std::ranges::any_of(
      kGeneral, [&](std::string_view word) { return padded.find(word) != padded.npos; });
}

Shown ShownIn(std::string_view text, SaidBy said_by) {
  const std::string lower = absl::AsciiStrToLower(std::string(text));
  for (const Cause* row : kInTexts) {
    if (row->said_by != said_by) continue;
    for (const std::string_view evidence : base::Split(row->evidence, '|')) {
      const size_t at = lower.find(evidence);
      if (at == lower.npos) continue;
      const std::string_view rest = text.substr(at + evidence.size());
      if (row == &cause::kOtherUser && UserIn(rest).empty()) continue;
      if (said_by == SaidBy::kServer && IsGeneral(std::string_view(lower).substr(0, at))) continue;
      const size_t line = text.rfind('\n', at) + 1;
      return {row, text.substr(0, line), text.substr(line), rest};
    }
  }
  return {};
}

// Returns at most as many bytes from the end, from the beginning of a line if there is one.
std::string_view EndOf(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  text = base::LastCharacters(text, most);
  const size_t line = text.find('\n');
  if (line != text.npos && line + 1 < text.size()) text.remove_prefix(line + 1);
  return text;
}

std::string WhatItPrints(std::string_view printed) {
  std::string shown(EndOf(printed, kMaxShown));
  while (shown.ends_with('\n') || shown.ends_with('\r')) shown.pop_back();
  return shown.empty() ? ", and prints nothing" : WithIndentedLines(", and prints:\n" + shown);
}

}  // namespace

Status CauseError(const Cause& cause, CauseValues values) {
  const std::string hint =
      absl::StrReplaceAll(base::ForUser(cause.hint), {{"{port}", PlacesOfPort()}});
  const Status error{cause.code, absl::StrReplaceAll(base::ForUser(cause.sentence), values),
                     absl::StrReplaceAll(hint, values)};
  return std::ranges::count(kOfDownNodes, &cause) > 0 ? NodeIsDown::Mark(error) : error;
}

Status WithLogin(const Status& error, const Login& login) {
  const std::string hint = Remedy(error);
  const std::string filled = absl::StrReplaceAll(hint, {{"{node}", login.node},
                                                        {"{login}", login.ssh},
                                                        {"{user}", login.user},
                                                        {"{jump}", login.jump},
                                                        {"{jump_from}", login.jump_from},
                                                        {"{target}", login.target}});
  if (filled == hint) return error;
  return login.ssh.empty() ? Status(error.code(), Message(error)) : WithRemedy(error, filled);
}

std::span<const Cause* const> CausesInTexts() { return kInTexts; }

const Cause* CauseIn(std::string_view text, SaidBy said_by) { return ShownIn(text, said_by).row; }

Status ConfigurationError(std::string_view said) {
  const Shown shown = ShownIn(said, SaidBy::kConfiguration);
  if (!shown.row) return OkStatus();
  return CauseError(*shown.row,
                    {{"{said}", OneSentence(base::FirstLine(shown.line))},
                     {"{rest}", OneSentence(base::FirstLine(shown.rest))},
                     {"{before}", OneSentence(shown.before.empty() ? said : shown.before)}});
}

Status SaidByServer(std::string_view text) {
  const Shown shown = ShownIn(text, SaidBy::kServer);
  if (!shown.row) return OkStatus();
  return CauseError(*shown.row, {{"{said}", OneSentence(base::Truncated(shown.line, kMaxSentence))},
                                 {"{user}", UserIn(shown.rest)}});
}

Status EndOfLogin(std::string_view text) {
  const bool may_be = text.find("rather than") != text.npos;
  return may_be && CauseIn(text, SaidBy::kServer) == &cause::kOtherUser ? SaidByServer(text)
                                                                        : OkStatus();
}

Status CommandLate(const Cause& cause, std::string_view printed, std::chrono::milliseconds limit) {
  // A login that the server does not admit for now would have ended.
  const Cause* said = CauseIn(printed, SaidBy::kServer);
  if (said && said->code != StatusCode::kUnavailable) return SaidByServer(printed);
  return CauseError(cause,
                    {{"{limit}", base::Seconds(limit)}, {"{prints}", WhatItPrints(printed)}});
}

Status CommandNotRun(std::string_view printed) {
  AD_RETURN_IF_ERROR(SaidByServer(printed));
  std::string said = OneSentence(printed);
  if (said.size() > 1 && said.ends_with('.')) said.pop_back();
  return said.empty() ? CauseError(cause::kShellExits)
                      : CauseError(cause::kNoCommand, {{"{said}", said}});
}

std::string WithIndentedLines(std::string_view text) {
  return absl::StrReplaceAll(std::string(text), {{"\n", "\n    "}});
}

std::string OneSentence(std::string_view text) {
  constexpr std::string_view kFrame = " \t\r*#=-_|+~";
  std::string sentence;
  for (const std::string_view line : base::Lines(EndOf(text, kMaxSentence))) {
    const size_t begin = line.find_first_not_of(kFrame);
    if (begin == line.npos) continue;
    const size_t end = line.find_last_not_of(kFrame) + 1;
    sentence += (sentence.empty() ? "" : " ") + std::string(line.substr(begin, end - begin));
  }
  return base::Printable(sentence);
}

}  // namespace autodist::transport
