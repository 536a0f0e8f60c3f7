#include "agent/input/rank_input.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include "base/thread.h"

namespace autodist::agent {

Result<std::unique_ptr<RankInput>> RankInput::Create(Report report) {
  std::unique_ptr<RankInput> input(new RankInput(std::move(report)));
  AD_RETURN_IF_ERROR(input->tasks_.Open());
  AD_ASSIGN_OR_RETURN(input->thread_, base::StartThread([&own = *input] { own.Loop(); }));
  return input;
}

RankInput::~RankInput() {
  if (!thread_.joinable()) return;
  tasks_.Post([this] { stopping_ = true; });
  thread_.join();
}

void RankInput::Begin() {
  const std::lock_guard lock(mutex_);
  streams_.clear();
}

void RankInput::Take(const v1::RankInput& input) {
  {
    const std::lock_guard lock(mutex_);
    Stream& stream = streams_[input.rank()];
    if (stream.closed || stream.end) return;
    if (stream.waiting.size() + input.data().size() <= kMaxBytes) stream.waiting += input.data();
    stream.end = input.end();
    if (input.has_size()) {
      stream.size = input.size();
      Resize(stream);
    }
  }
  tasks_.Post([] {});  // there is data to write
}

void RankInput::Add(uint32_t rank, base::UniqueFd in) {
  {
    const std::lock_guard lock(mutex_);
    Stream& stream = streams_[rank];
    stream.fd = std::move(in);
    Resize(stream);
  }
  tasks_.Post([] {});
}

void RankInput::Remove(uint32_t rank) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(rank);
  if (found == streams_.end()) return;
  found->second = {};
  found->second.closed = true;
}

// Fails on a pipe, which has no size.
void RankInput::Resize(const Stream& stream) {
  constexpr uint32_t kMaxCells = std::numeric_limits<unsigned short>::max();
  if (!stream.fd.valid() || stream.size.rows() == 0) return;
  winsize size{};
  size.ws_row = static_cast<unsigned short>(std::min(stream.size.rows(), kMaxCells));
  size.ws_col = static_cast<unsigned short>(std::min(stream.size.columns(), kMaxCells));
  (void)ioctl(stream.fd.get(), TIOCSWINSZ, &size);
}

void RankInput::Loop() {
  while (!stopping_) {
    std::vector<pollfd> fds = {{tasks_.fd(), POLLIN, 0}};
    std::vector<uint32_t> ranks;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [rank, stream] : streams_) {
        if (!stream.fd.valid()) continue;
        if (stream.waiting.empty() && stream.end) Close(rank, stream);
        if (stream.waiting.empty()) continue;
        fds.push_back({stream.fd.get(), POLLOUT, 0});
        ranks.push_back(rank);
      }
    }
    (void)poll(fds.data(), fds.size(), -1);
    {
      const std::lock_guard lock(mutex_);
      for (size_t i = 0; i < ranks.size(); ++i) {
        // The descriptor may already be another rank's, which is harmless: it does not block.
        const auto found = streams_.find(ranks[i]);
        if (fds[i + 1].revents != 0 && found != streams_.end()) Write(ranks[i], found->second);
      }
    }
    tasks_.RunAll();
  }
}

void RankInput::Write(uint32_t rank, Stream& stream) {
  if (!stream.fd.valid() || stream.waiting.empty()) return;
  const ssize_t written = write(stream.fd.get(), stream.waiting.data(), stream.waiting.size());
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (written < 0) return Close(rank, stream);
  stream.waiting.erase(0, static_cast<size_t>(written));
  stream.taken += static_cast<uint64_t>(written);
  ReportTaken(rank, stream);
}

// Called after all data were written, or if the rank no longer reads.
void RankInput::Close(uint32_t rank, Stream& stream) {
  stream.fd.Reset();
  stream.waiting.clear();
  if (!std::exchange(stream.closed, true)) ReportTaken(rank, stream);
}

void RankInput::ReportTaken(uint32_t rank, const Stream& stream) const {
  v1::InputTaken taken;
  taken.set_rank(rank);
  taken.set_bytes(stream.taken);
  taken.set_closed(stream.closed);
  report_(std::move(taken));
}

}  // namespace autodist::agent
