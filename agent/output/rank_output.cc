#include "agent/output/rank_output.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/thread.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

constexpr uint64_t kReadSize = 64 * 1024;
// A limit for small pieces, which use more of the chief's memory than their size.
constexpr size_t kMaxPiecesOnTheirWay = 512;
constexpr std::chrono::milliseconds kStalled{1000};

}  // namespace

bool SendTurns::MayGo(uint32_t rank, uint64_t turn, uint64_t bytes) {
  Batch& batch = batches_[rank];
  if (turn <= batch.last_turn) return true;
  if (!batch.next.Expired() && bytes < kWorthAMessage) {
    next_batch_ = std::min(next_batch_, batch.next);
    return false;
  }
  batch.last_turn = last_;
  // Batches have the same times for all ranks.
  const auto batches = (base::Deadline::Clock::now() - began_) / kBatchInterval;
  batch.next = base::Deadline::At(began_ + (batches + 1) * kBatchInterval);
  return true;
}

bool SendTurns::TakeNextBatch() {
  if (!next_batch_.Expired()) return false;
  next_batch_ = base::Deadline::Never();
  return true;
}

Result<std::unique_ptr<RankOutput>> RankOutput::Create(Events events, std::string spool_folder) {
  std::unique_ptr<RankOutput> output(new RankOutput(std::move(events), std::move(spool_folder)));
  output->epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  AD_RETURN_IF_ERROR(output->tasks_.Open());
  epoll_event event{};
  event.events = EPOLLIN;
  if (!output->epoll_.valid() ||
      epoll_ctl(output->epoll_.get(), EPOLL_CTL_ADD, output->tasks_.fd(), &event) != 0) {
    return ErrnoError(errno, "epoll");
  }
  AD_ASSIGN_OR_RETURN(output->thread_, base::StartThread([&own = *output] { own.Loop(); }));
  return output;
}

RankOutput::~RankOutput() { StopReading(); }

void RankOutput::StopReading() {
  if (!thread_.joinable()) return;
  tasks_.Post([this] { stopping_ = true; });
  thread_.join();
}

void RankOutput::Begin(uint64_t spool_limit) {
  const std::lock_guard lock(mutex_);
  for (auto& [key, stream] : streams_) Close(stream);
  streams_.clear();
  turns_.Begin();
  spool_limit_ = spool_limit;
  disk_failed_ = false;
  finishing_ = false;
}

void RankOutput::Add(uint32_t rank, base::UniqueFd out, base::UniqueFd err) {
  const std::lock_guard lock(mutex_);
  const bool terminal = !err.valid();
  for (auto& [kind, fd] :
       {std::pair{v1::OUTPUT_STREAM_STDOUT, &out}, std::pair{v1::OUTPUT_STREAM_STDERR, &err}}) {
    if (!fd->valid()) continue;
    const auto added = streams_.insert_or_assign(
        {rank, kind},
        Stream{rank, kind, std::move(*fd), StreamBacklog(spool_limit_, spool_folder_), terminal});
    Watch(added.first->second);
  }
}

void RankOutput::Loop() {
  while (!stopping_) {
    base::Deadline wake = base::Deadline::Never();
    {
      const std::lock_guard lock(mutex_);
      wake = std::min(turns_.next_batch(), stall_seen_ ? base::Deadline::Never() : stalled_at_);
    }
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 wake.PollTimeout());
    std::string warning;
    bool changed = false;
    {
      const std::lock_guard lock(mutex_);
      if (!stall_seen_ && stalled_at_.Expired()) {
        stall_seen_ = true;
        WatchAll();
      }
      changed = turns_.TakeNextBatch();
      for (int i = 0; i < count; ++i) {
        const uint64_t which = events[static_cast<size_t>(i)].data.u64;
        if (which == 0) continue;
        // A stream that has been closed is not found.
        const auto found =
            streams_.find({static_cast<uint32_t>(which >> 8), static_cast<int>(which & 255)});
        if (found == streams_.end() || !found->second.pipe.valid()) continue;
        Read(found->second, warning);
        changed = true;
      }
    }
    if (!warning.empty()) events_.warning(std::move(warning));
    if (changed) events_.changed();
    tasks_.RunAll();
  }
}

// Reads once.
void RankOutput::Read(Stream& stream, std::string& warning) {
  std::string data(std::min(kReadSize, Room(stream)), '\0');
  const ssize_t got = data.empty() ? -1 : read(stream.pipe.get(), data.data(), data.size());
  const int error = data.empty() ? EAGAIN : errno;
  if (got > 0) {
    data.resize(static_cast<size_t>(got));
    stream.last_read = base::Deadline::Clock::now();
    if (!(stalled_at_ < base::Deadline::Never())) SetStalled(base::Deadline::After(kStalled));
    const Status kept = stream.backlog.Keep(std::move(data), turns_.New());
    if (!kept.ok() && !std::exchange(disk_failed_, true)) {
      warning = "output of ranks cannot be kept on the disk: " + Message(kept) +
                "; ranks that write more wait until the chief has received it";
    }
  } else if (got == 0 || (error != EAGAIN && error != EINTR) || (finishing_ && !data.empty())) {
    Close(stream);  // ended, or empty without a writer
  }
  Watch(stream);
}

// Watches the pipe only while there is room.
void RankOutput::Watch(Stream& stream) {
  const bool wanted = stream.pipe.valid() && Room(stream) > 0;
  if (wanted == stream.watched) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = uint64_t{stream.rank} << 8 | static_cast<unsigned>(stream.kind);
  epoll_ctl(epoll_.get(), wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, stream.pipe.get(), &event);
  stream.watched = wanted;
}

uint64_t RankOutput::Room(const Stream& stream) const {
  const uint64_t ahead =
      stalled_at_.Expired() ? UINT64_MAX : kAhead - std::min(kAhead, stream.backlog.kept());
  uint64_t kept_of_rank = 0;
  for (const auto& [key, of_rank] : OfRank(stream.rank)) kept_of_rank += of_rank.backlog.kept();
  return std::min(
      {stream.backlog.room(), ahead, spool_limit_ - std::min(spool_limit_, kept_of_rank)});
}

void RankOutput::WatchAll() {
  for (auto& [key, stream] : streams_) Watch(stream);
}

// The chief has acknowledged output.
void RankOutput::NoteProgress() {
  const bool all = std::ranges::all_of(
      streams_, [](const auto& entry) { return entry.second.backlog.kept() == 0; });
  const bool asleep = stall_seen_;
  SetStalled(all ? base::Deadline::Never() : base::Deadline::After(kStalled));
  WatchAll();
  if (asleep) tasks_.Post([] {});  // the thread has a deadline again
}

void RankOutput::SetStalled(base::Deadline at) {
  stalled_at_ = at;
  stall_seen_ = false;
}

void RankOutput::Close(Stream& stream) {
  // Other processes may have the terminal's descriptor, so closing ours does not remove it from
  // epoll.
  if (std::exchange(stream.watched, false)) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, stream.pipe.get(), nullptr);
  }
  stream.pipe.Reset();
}

RankOutput::Stream* RankOutput::Find(const v1::OutputAck& ack) {
  const auto found = streams_.find({ack.rank(), ack.stream()});
  return found == streams_.end() ? nullptr : &found->second;
}

RankOutput::StreamRange RankOutput::OfRank(uint32_t rank) const {
  return {streams_.lower_bound({rank, INT_MIN}), streams_.upper_bound({rank, INT_MAX})};
}

void RankOutput::Resume(const v1::Resume& resume) {
  const std::lock_guard lock(mutex_);
  for (const v1::OutputAck& ack : resume.outputs()) {
    if (Stream* stream = Find(ack)) stream->backlog.Release(ack.offset(), turns_.New());
  }
  for (auto& [key, stream] : streams_) stream.backlog.Rewind();
  NoteProgress();
  if (finishing_) tasks_.Post([this] { ReadToTheEnd(); });
}

std::optional<v1::Output> RankOutput::Next() {
  const std::lock_guard lock(mutex_);
  uint64_t in_flight = 0;
  size_t pieces = 0;
  for (const auto& [key, stream] : streams_) {
    in_flight += stream.backlog.in_flight();
    pieces += stream.backlog.pieces_in_flight();
  }
  if (in_flight >= kWindow || pieces >= kMaxPiecesOnTheirWay) return std::nullopt;
  Stream* next = NextInTurn();
  if (!next) return std::nullopt;
  v1::Output output = next->backlog.Next(
      std::min<size_t>(rpc::kLargestOutput, static_cast<size_t>(kWindow - in_flight)),
      turns_.New());
  output.set_rank(next->rank);
  output.set_stream(next->kind);
  if (next->last_read) {
    const auto read = std::chrono::floor<std::chrono::milliseconds>(*next->last_read);
    output.set_read_ms(static_cast<uint64_t>(read.time_since_epoch().count()));
  }
  return output;
}

// Returns null if no stream has anything to send now.
RankOutput::Stream* RankOutput::NextInTurn() {
  const base::Deadline wake = turns_.next_batch();
  Stream* next = nullptr;
  for (auto& [key, stream] : streams_) {
    const StreamBacklog& backlog = stream.backlog;
    if (backlog.unsent() == 0 || (next && next->backlog.turn() < backlog.turn())) continue;
    if (stream.at_once || finishing_ ||
        turns_.MayGo(stream.rank, backlog.turn(), WorthOf(stream.rank))) {
      next = &stream;
    }
  }
  if (turns_.next_batch() < wake) tasks_.Post([] {});  // the thread has another deadline
  return next;
}

// Returns the unsent bytes of both streams; an ended stream counts as a full message.
uint64_t RankOutput::WorthOf(uint32_t rank) const {
  uint64_t bytes = 0;
  for (const auto& [key, stream] : OfRank(rank)) {
    const uint64_t unsent = stream.backlog.unsent();
    bytes += unsent > 0 && !stream.pipe.valid() ? SendTurns::kWorthAMessage : unsent;
  }
  return bytes;
}

void RankOutput::Acknowledge(const v1::OutputAck& ack) {
  bool to_the_end = false;
  {
    const std::lock_guard lock(mutex_);
    Stream* stream = Find(ack);
    if (!stream || !stream->backlog.WasSent(ack.offset())) return;
    stream->backlog.Release(ack.offset(), turns_.New());
    NoteProgress();
    to_the_end = finishing_ && stream->pipe.valid();
  }
  if (to_the_end) tasks_.Post([this] { ReadToTheEnd(); });
  events_.changed();
}

std::optional<base::Deadline::Clock::time_point> RankOutput::LastOutput(uint32_t rank) const {
  const std::lock_guard lock(mutex_);
  std::optional<base::Deadline::Clock::time_point> last;
  for (const auto& [key, stream] : OfRank(rank)) last = std::max(last, stream.last_read);
  return last;
}

void RankOutput::Finish() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(finishing_, true)) return;
  }
  tasks_.Post([this] { ReadToTheEnd(); });
}

void RankOutput::ReadToTheEnd() {
  std::string warning;
  {
    const std::lock_guard lock(mutex_);
    if (!finishing_) return;  // another attempt has begun
    for (auto& [key, stream] : streams_) {
      while (stream.pipe.valid() && Room(stream) > 0) Read(stream, warning);
    }
  }
  if (!warning.empty()) events_.warning(std::move(warning));
  events_.changed();
}

bool RankOutput::Drained() const {
  const std::lock_guard lock(mutex_);
  return finishing_ && std::ranges::all_of(streams_, [](const auto& entry) {
           return !entry.second.pipe.valid() && entry.second.backlog.empty();
         });
}

}  // namespace autodist::agent
