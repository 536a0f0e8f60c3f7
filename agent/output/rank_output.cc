#include "agent/output/rank_output.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/thread.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

constexpr uint64_t kReadSize = 64 * 1024;

}  // namespace

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
  for (auto& [key, stream] : streams_) Close(*stream);
  streams_.clear();
  batches_.clear();
  spool_limit_ = spool_limit;
  finishing_ = false;
}

void RankOutput::Add(uint32_t rank, base::UniqueFd out, base::UniqueFd err) {
  const std::lock_guard lock(mutex_);
  const bool terminal = !err.valid();
  for (auto& [kind, fd] :
       {std::pair{v1::OUTPUT_STREAM_STDOUT, &out}, std::pair{v1::OUTPUT_STREAM_STDERR, &err}}) {
    if (!fd->valid()) continue;
    v1::OutputAck id;
    id.set_rank(rank);
    id.set_stream(kind);
    auto& stream = streams_[{rank, kind}];
    stream = std::make_unique<Stream>(std::move(id), std::move(*fd), spool_limit_, spool_folder_);
    stream->at_once = terminal;
    Watch(*stream);
  }
}

void RankOutput::Loop() {
  while (!stopping_) {
    base::Deadline wake = base::Deadline::Never();
    {
      const std::lock_guard lock(mutex_);
      wake = stall_seen_ ? wake_at_ : std::min(stalled_at_, wake_at_);
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
      if (wake_at_.Expired()) {
        wake_at_ = base::Deadline::Never();
        changed = true;
      }
      for (int i = 0; i < count; ++i) {
        const uint64_t which = events[static_cast<size_t>(i)].data.u64;
        if (which == 0) continue;
        // One that has been closed since is not found any more.
        const auto found =
            streams_.find({static_cast<uint32_t>(which >> 8), static_cast<int>(which & 255)});
        if (found == streams_.end() || !found->second->fd.valid()) continue;
        Read(*found->second, warning);
        changed = true;
      }
    }
    if (!warning.empty()) events_.warning(std::move(warning));
    if (changed) events_.changed();
    tasks_.RunAll();
  }
}

// Once; mutex_ held.
void RankOutput::Read(Stream& stream, std::string& warning) {
  std::string data(std::min(kReadSize, Room(stream)), '\0');
  const ssize_t got = data.empty() ? -1 : read(stream.fd.get(), data.data(), data.size());
  const int error = data.empty() ? EAGAIN : errno;
  if (got > 0) {
    data.resize(static_cast<size_t>(got));
    stream.last_read = base::Deadline::Clock::now();
    if (!(stalled_at_ < base::Deadline::Never())) {
      SetStalled(base::Deadline::After(kStalled));
    }
    const Status kept = Keep(stream, data);
    if (!kept.ok()) {
      stream.unkept = std::move(data);
      warning = "output of rank " + std::to_string(stream.id.rank()) +
                " cannot be kept on the disk: " + Message(kept) +
                "; the rank waits until the chief has taken what it wrote";
    }
  } else if (got == 0 || (error != EAGAIN && error != EINTR) || (finishing_ && !data.empty())) {
    Close(stream);  // ended, or empty with nobody left to write
  }
  Watch(stream);
}

// Who has begun to wait first is sent first: a print after the end of a bar stands behind it.
Status RankOutput::Keep(Stream& stream, const std::string& data) {
  if (stream.sent == stream.spool.end()) stream.turn = ++turns_;
  return stream.spool.Append(data);
}

// Watches the pipe while there is room, and only then.
void RankOutput::Watch(Stream& stream) {
  const bool wanted = stream.fd.valid() && Room(stream) > 0;
  if (wanted == stream.watched) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = uint64_t{stream.id.rank()} << 8 | static_cast<unsigned>(stream.id.stream());
  epoll_ctl(epoll_.get(), wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, stream.fd.get(), &event);
  stream.watched = wanted;
}

uint64_t RankOutput::Room(const Stream& stream) const {
  if (!stream.unkept.empty()) return 0;
  const uint64_t kept = stream.spool.end() - stream.spool.begin();
  const uint64_t ahead = stalled_at_.Expired() ? UINT64_MAX : kAhead - std::min(kAhead, kept);
  const uint64_t kept_of_rank = Kept(stream.id.rank());
  const uint64_t of_rank = spool_limit_ - std::min(spool_limit_, kept_of_rank);
  return std::min({stream.spool.room(), ahead, of_rank});
}

uint64_t RankOutput::Kept(uint32_t rank) const {
  uint64_t kept = 0;
  for (const int kind : {v1::OUTPUT_STREAM_STDOUT, v1::OUTPUT_STREAM_STDERR}) {
    const auto found = streams_.find({rank, kind});
    if (found == streams_.end() || !found->second) continue;
    kept += found->second->spool.end() - found->second->spool.begin();
  }
  return kept;
}

void RankOutput::WatchAll() {
  for (auto& [key, stream] : streams_) Watch(*stream);
}

// The chief has acknowledged something.
void RankOutput::NoteProgress() {
  const bool all = std::ranges::all_of(streams_, [](const auto& entry) {
    return entry.second->spool.begin() == entry.second->spool.end();
  });
  const bool asleep = stall_seen_;
  SetStalled(all ? base::Deadline::Never() : base::Deadline::After(kStalled));
  WatchAll();
  if (asleep) tasks_.Post([] {});  // the thread has a deadline again
}

void RankOutput::SetStalled(base::Deadline at) {
  stalled_at_ = at;
  stall_seen_ = false;
}

void RankOutput::Release(Stream& stream, uint64_t offset) {
  stream.spool.Release(offset);
  while (!stream.pieces.empty() && stream.pieces.front() <= offset) stream.pieces.pop_front();
  if (!stream.unkept.empty() && stream.unkept.size() <= stream.spool.room() &&
      Keep(stream, stream.unkept).ok()) {
    stream.unkept.clear();
  }
  Watch(stream);
}

void RankOutput::Close(Stream& stream) {
  // Who writes to a terminal has another descriptor of it: closing ours is not enough.
  if (std::exchange(stream.watched, false)) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, stream.fd.get(), nullptr);
  }
  stream.fd.Reset();
}

RankOutput::Stream* RankOutput::Find(const v1::OutputAck& ack) {
  const auto found = streams_.find({ack.rank(), ack.stream()});
  return found == streams_.end() ? nullptr : found->second.get();
}

uint64_t RankOutput::InFlight() const {
  uint64_t bytes = 0;
  for (const auto& [key, stream] : streams_) bytes += stream->sent - stream->spool.begin();
  return bytes;
}

size_t RankOutput::PiecesInFlight() const {
  size_t pieces = 0;
  for (const auto& [key, stream] : streams_) pieces += stream->pieces.size();
  return pieces;
}

void RankOutput::Resume(const v1::Resume& resume) {
  const std::lock_guard lock(mutex_);
  for (const v1::OutputAck& ack : resume.outputs()) {
    Stream* stream = Find(ack);
    if (stream) Release(*stream, ack.offset());
  }
  for (auto& [key, stream] : streams_) {
    stream->sent = stream->spool.begin();
    stream->pieces.clear();
  }
  NoteProgress();
  if (finishing_) tasks_.Post([this] { ReadToTheEnd(); });
}

std::optional<v1::Output> RankOutput::Next() {
  const std::lock_guard lock(mutex_);
  const uint64_t in_flight = InFlight();
  if (in_flight >= kWindow || PiecesInFlight() >= kMostPieces) return std::nullopt;
  Stream* next = NextInTurn();
  if (!next) return std::nullopt;
  Stream& stream = *next;
  auto data = stream.spool.Read(
      stream.sent, std::min<size_t>(rpc::kLargestOutput, static_cast<size_t>(kWindow - in_flight)));
  v1::Output output;
  output.set_rank(stream.id.rank());
  output.set_stream(stream.id.stream());
  output.set_offset(stream.sent);
  if (data.ok()) {
    output.set_data(*std::move(data));
  } else {
    // Never silently: the bytes are replaced by the reason.
    output.set_lost(stream.spool.end() - stream.sent);
    output.set_lost_because(Message(data.status()));
  }
  stream.sent += output.data().size() + output.lost();
  stream.pieces.push_back(stream.sent);
  stream.turn = ++turns_;
  return output;
}

// Null: none has anything to send now.
RankOutput::Stream* RankOutput::NextInTurn() {
  Stream* next = nullptr;
  for (auto& [key, stream] : streams_) {
    if (stream->sent >= stream->spool.end() || (next && next->turn < stream->turn)) continue;
    if (MayGo(*stream)) next = stream.get();
  }
  return next;
}

// One that has something to send; else the thread wakes when it may.
bool RankOutput::MayGo(const Stream& stream) {
  Batch& batch = batches_[stream.id.rank()];
  if (stream.at_once || finishing_ || stream.turn <= batch.last_turn) return true;
  if (!batch.next.Expired() && WorthOf(stream.id.rank()) < kWorthAMessage) {
    WakeAt(batch.next);
    return false;
  }
  batch.last_turn = turns_;
  batch.next = NextBatch();
  return true;
}

// Bytes to send of both its streams; where one has ended with some, as many as make a message.
uint64_t RankOutput::WorthOf(uint32_t rank) const {
  uint64_t bytes = 0;
  for (const int kind : {v1::OUTPUT_STREAM_STDOUT, v1::OUTPUT_STREAM_STDERR}) {
    const auto found = streams_.find({rank, kind});
    if (found == streams_.end() || !found->second) continue;
    const Stream& stream = *found->second;
    const uint64_t unsent = stream.spool.end() - stream.sent;
    bytes += unsent > 0 && !stream.fd.valid() ? kWorthAMessage : unsent;
  }
  return bytes;
}

// At times that are the same for all ranks.
base::Deadline RankOutput::NextBatch() const {
  const auto batches = (base::Deadline::Clock::now() - began_) / kBatchInterval;
  return base::Deadline::At(began_ + (batches + 1) * kBatchInterval);
}

void RankOutput::WakeAt(base::Deadline at) {
  if (!(at < wake_at_)) return;
  wake_at_ = at;
  tasks_.Post([] {});  // the thread has another deadline
}

void RankOutput::Acknowledge(const v1::OutputAck& ack) {
  bool to_the_end = false;
  {
    const std::lock_guard lock(mutex_);
    Stream* stream = Find(ack);
    if (!stream || ack.offset() > stream->sent) return;
    Release(*stream, ack.offset());
    NoteProgress();
    to_the_end = finishing_ && stream->fd.valid();
  }
  if (to_the_end) tasks_.Post([this] { ReadToTheEnd(); });
  events_.changed();
}

std::optional<base::Deadline::Clock::time_point> RankOutput::LastOutput(uint32_t rank) const {
  const std::lock_guard lock(mutex_);
  std::optional<base::Deadline::Clock::time_point> last;
  for (const int kind : {v1::OUTPUT_STREAM_STDOUT, v1::OUTPUT_STREAM_STDERR}) {
    const auto found = streams_.find({rank, kind});
    if (found != streams_.end() && found->second) last = std::max(last, found->second->last_read);
  }
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
    for (auto& [key, stream] : streams_) {
      while (stream->fd.valid() && Room(*stream) > 0) Read(*stream, warning);
    }
  }
  if (!warning.empty()) events_.warning(std::move(warning));
  events_.changed();
}

bool RankOutput::Drained() const {
  const std::lock_guard lock(mutex_);
  return finishing_ && std::ranges::all_of(streams_, [](const auto& entry) {
           const Stream& stream = *entry.second;
           return !stream.fd.valid() && stream.unkept.empty() &&
                  stream.spool.begin() == stream.spool.end();
         });
}

}  // namespace autodist::agent
