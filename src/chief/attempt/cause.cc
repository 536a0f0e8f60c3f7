#include "chief/attempt/cause.h"

#include <signal.h>

#include <algorithm>

#include "base/exit_codes.h"
#include "base/parse_number.h"
#include "base/quantity.h"
#include "base/signal_name.h"
#include "diagnosis/failure_hint.h"

namespace autodist::chief {
namespace {

// The exit code of a shell whose program was ended by a signal, without the signal's number.
constexpr int kShellSignal = 128;

// "3.2 of 4.0 GiB"; without the first number if it is unknown.
std::string UsedOf(uint64_t used, const std::string& of, uint64_t limit) {
  const std::string all = base::BinaryBytes(limit);
  if (used == 0) return of + all;
  std::string part = base::BinaryBytes(used);
  const std::string unit = all.substr(all.find(' '));
  if (part.ends_with(unit)) part.resize(part.size() - unit.size());
  return part + " of " + of + all;
}

// Returns whether it, or the program of a shell, was ended by a SIGKILL that autodist did not send.
bool KilledByAnother(const v1::RankExited& exit) {
  return (exit.signal() == SIGKILL || exit.exit_code() == kShellSignal + SIGKILL) &&
         exit.signalled() != SIGKILL;
}

// ": the kernel's out-of-memory killer, at 4.0 of 4.0 GiB of the cgroup"; "" if it killed nothing.
std::string WhoseMemory(const v1::RankExited& exit) {
  if (!exit.has_out_of_memory()) return "";
  const v1::OutOfMemory& memory = exit.out_of_memory();
  std::string killer = ": the kernel's out-of-memory killer";
  if (memory.limit() == 0) return killer;
  if (memory.of_cgroup()) {
    return killer + ", at " + UsedOf(memory.used(), "", memory.limit()) + " of the cgroup";
  }
  return killer + (memory.used() > 0 ? ", when it had " : ", when there was nothing left of ") +
         UsedOf(memory.used(), "the node's ", memory.limit());
}

// Of a write to a mapped file.
std::string FullSharedMemory(const v1::RankExited& exit) {
  const std::string full =
      IsBusError(exit) ? diagnosis::FullSharedMemoryText(exit.failure_facts()) : "";
  return full.empty() ? "" : ": " + full;
}

// Says who sent the signal, as far as it is known.
std::string WhoSent(const v1::RankExited& exit) {
  if (KilledByAnother(exit) && !exit.has_out_of_memory()) {
    if (!exit.has_oom_kills()) {
      return ", not by autodist; perhaps out of memory: see dmesg on the node";
    }
    return exit.oom_kills() > 0
               ? ", not by autodist; the kernel's out-of-memory killer was active on the node"
               : ", not by autodist or the kernel's out-of-memory killer";
  }
  return EndedByPassedOnSignal(exit) ? ", which autodist passed on" : "";
}

}  // namespace

std::string MeaningOfExitCode(int code, const std::string& sender) {
  constexpr int kSignals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGSYS};
  const int signal = code - kShellSignal;
  if (std::ranges::count(kSignals, signal) == 0) return "";
  return " (" + std::to_string(kShellSignal) + " + " + std::to_string(signal) +
         ": a program that it started was ended by " + base::SignalName(signal) + sender + ")";
}

int ExitCodeOf(const v1::RankExited& exit) {
  switch (exit.how_case()) {
    case v1::RankExited::kExitCode:
      return exit.exit_code();
    case v1::RankExited::kSignal:
      return kShellSignal + exit.signal();
    case v1::RankExited::kStartFailure:
      return exit.start_failure().exit_code();
    case v1::RankExited::HOW_NOT_SET:
      break;
  }
  return kExitCannotLaunch;
}

bool IsBusError(const v1::RankExited& exit) {
  return exit.signal() == SIGBUS || exit.exit_code() == kShellSignal + SIGBUS;
}

// Only SIGUSR1 and SIGUSR2 are passed on.
bool EndedByPassedOnSignal(const v1::RankExited& exit) {
  const bool passed_on = exit.signal() == SIGUSR1 || exit.signal() == SIGUSR2;
  return passed_on && exit.signalled() == exit.signal();
}

int ExitCodeOf(const v1::RankAborted& abort) { return std::max(abort.status() & 0xFF, 1); }

std::string NounFor(size_t count, const v1::LaunchPlan& plan) {
  const bool ranks = plan.program_kind() == v1::PROGRAM_KIND_PER_DEVICE ||
                     plan.program_kind() == v1::PROGRAM_KIND_UNSPECIFIED;
  if (ranks) return count == 1 ? "rank" : "ranks";
  return count == 1 ? "process" : "processes";
}

std::string NameAndNode(const v1::LaunchPlan& plan, uint32_t node_rank, uint32_t rank) {
  const v1::NodePlan& node = plan.nodes(static_cast<int>(node_rank));
  const auto found = std::ranges::find(node.ranks(), rank, &v1::RankPlan::rank);
  return (found != node.ranks().end() ? found->name() : "a process") + " on " + node.address();
}

std::string HowItEnded(const v1::RankExited& exit) {
  switch (exit.how_case()) {
    case v1::RankExited::kExitCode:
      return "exited with code " + std::to_string(exit.exit_code()) +
             MeaningOfExitCode(exit.exit_code(), WhoSent(exit)) + WhoseMemory(exit) +
             FullSharedMemory(exit);
    case v1::RankExited::kSignal:
      return "was ended by " + base::SignalName(exit.signal()) +
             (exit.core_dumped() ? " (core dumped)" : "") + WhoSent(exit) + WhoseMemory(exit) +
             FullSharedMemory(exit);
    case v1::RankExited::kStartFailure:
      return "could not be started: " + exit.start_failure().cause();
    case v1::RankExited::HOW_NOT_SET:
      break;
  }
  return "ended in an unknown way";
}

std::string HowItEnded(const v1::RankAborted& abort) {
  return "called MPI_Abort with " + std::to_string(abort.status()) +
         (abort.message().empty() ? "" : ": " + abort.message());
}

std::string HowItEnded(const Cause& cause) {
  return cause.abort ? HowItEnded(*cause.abort) : HowItEnded(cause.exit);
}

std::string SenderOf(int signal, const std::string& by) {
  if (!by.empty()) return by;
  return base::SignalName(signal) + (signal == SIGHUP ? " (as when the terminal is closed)" : "");
}

std::string DescribeCause(const Cause& cause, const v1::LaunchPlan& plan) {
  switch (cause.kind) {
    case Cause::Kind::kRankFailed:
      return NameAndNode(plan, cause.node_rank, cause.exit.rank()) + " " + HowItEnded(cause);
    case Cause::Kind::kNodeLost:
      return "node " + plan.nodes(static_cast<int>(cause.node_rank)).address() +
             " was lost: " + Message(cause.status);
    case Cause::Kind::kInterrupted:
      return "stopped by " + SenderOf(cause.signal, cause.by);
    case Cause::Kind::kTimedOut:
      return "stopped: --timeout expired";
    case Cause::Kind::kHung:
      break;
  }
  return "stopped: " + NameCause(cause, plan);
}

std::string NameCause(const Cause& cause, const v1::LaunchPlan& plan) {
  if (cause.kind == Cause::Kind::kHung) return "no rank showed activity (--hang-timeout)";
  return DescribeCause(cause, plan);
}

size_t LengthOfPlace(std::string_view message) {
  const size_t comma = message.rfind(", ");
  if (comma == std::string_view::npos) return 0;
  const std::string_view place = message.substr(comma + 2);
  const size_t colon = place.rfind(':');
  const bool is_place = colon != std::string_view::npos && colon > 0 &&
                        place.find(' ') == std::string_view::npos &&
                        base::ParseNumber<uint32_t>(place.substr(colon + 1));
  return is_place ? message.size() - comma : 0;
}

std::string Shortened(std::string_view text) {
  if (text.size() <= kMaxCauseLength) return std::string(text);
  constexpr std::string_view kCut = "...";
  std::string_view place = text.substr(text.size() - LengthOfPlace(text));
  if (place.size() > kMaxCauseLength / 2) place = "";
  size_t kept = kMaxCauseLength - place.size() - kCut.size();
  // Does not cut within a character.
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80) --kept;
  return std::string(text.substr(0, kept)).append(kCut).append(place);
}

std::string InOneLine(const std::vector<std::string>& causes) {
  std::string line;
  for (const std::string& cause : causes) {
    const std::string longer = line.empty() ? Shortened(cause) : line + "; because of it, " + cause;
    if (longer.size() > kMaxCauseLength) break;
    line = longer;
  }
  return line;
}

}  // namespace autodist::chief
