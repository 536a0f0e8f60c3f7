#include "web/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

#include "base/private_folder.h"

namespace autodist::web {
namespace {

constexpr size_t kChunk = 1 << 20;              // bytes searched at a time
constexpr size_t kMaxTextLength = 1 << 10;      // max bytes of a line in an answer
constexpr size_t kBefore = kMaxTextLength / 4;  // of these before the hit, in a longer line

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// Progress bars end each state with \r.
bool EndsText(char c) { return c == '\n' || c == '\r'; }

std::string TextAround(std::string_view chunk, size_t hit) {
  size_t begin = hit;
  while (begin > 0 && hit - begin < kBefore && !EndsText(chunk[begin - 1])) --begin;
  size_t end = hit;
  while (end < chunk.size() && end - begin < kMaxTextLength && !EndsText(chunk[end])) ++end;
  return std::string(chunk.substr(begin, end - begin));
}

class Finder {
 public:
  Finder(const LogFile& file, const Search& search, const std::function<bool()>& cancelled)
      : file_(file),
        search_(search),
        cancelled_(cancelled),
        fold_(std::ranges::none_of(search.text, [](char c) { return c >= 'A' && c <= 'Z'; })) {
    found_.size = file.Size();
  }

  Hits Forwards() {
    uint64_t at = search_.from;
    while (at < found_.size && !cancelled_()) {
      std::string chunk = file_.Read(at, kChunk);
      if (chunk.empty()) break;
      uint64_t next = at + chunk.size();
      if (next < found_.size) {  // end at a whole line
        const size_t last = chunk.rfind('\n');
        if (last != std::string::npos) {
          chunk.resize(last + 1);
          next = at + chunk.size();
        } else {
          next -= search_.text.size() - 1;
        }
      }
      for (const auto& [offset, text] : InChunk(chunk, search_.most - found_.hits.size())) {
        found_.hits.push_back({at + offset, text});
      }
      if (found_.hits.size() == search_.most) {
        const uint64_t line = found_.hits.back().line - at;
        const size_t end = chunk.find('\n', line);
        found_.next = end == std::string::npos ? next : at + end + 1;
        return std::move(found_);
      }
      at = std::max(next, at + 1);
    }
    if (at < found_.size) found_.next = at;
    return std::move(found_);
  }

  Hits Backwards() {
    uint64_t end = std::min(search_.from, found_.size);
    while (end > 0 && !cancelled_()) {
      uint64_t begin = end > kChunk ? end - kChunk : 0;
      std::string chunk = file_.Read(begin, end - begin);
      uint64_t next = begin;
      if (begin > 0) {  // begin at a whole line
        const size_t first = chunk.find('\n');
        if (first != std::string::npos && first + 1 < chunk.size()) {
          chunk.erase(0, first + 1);
          begin += first + 1;
          next = begin;
        } else {
          next += search_.text.size() - 1;
        }
      }
      const auto hits = InChunk(chunk, SIZE_MAX, search_.most - found_.hits.size());
      for (auto hit = hits.rbegin(); hit != hits.rend(); ++hit) {
        found_.hits.push_back({begin + hit->offset, hit->text});
      }
      if (found_.hits.size() == search_.most) {
        if (found_.hits.back().line > 0) found_.next = found_.hits.back().line;
        return std::move(found_);
      }
      end = std::min(next, end - 1);
    }
    if (end > 0) found_.next = end;
    return std::move(found_);
  }

 private:
  struct InLine {
    size_t offset;  // of the line
    std::string text;
  };

  // Finds the first `first` lines with a hit and returns the last `last` of them.
  std::deque<InLine> InChunk(const std::string& chunk, size_t first, size_t last = SIZE_MAX) {
    const std::string* text = &chunk;
    if (fold_) {
      folded_.resize(chunk.size());
      for (size_t i = 0; i < chunk.size(); ++i) folded_[i] = Lower(chunk[i]);
      text = &folded_;
    }
    std::deque<std::pair<size_t, size_t>> lines;  // offsets of the lines and of their hits
    size_t at = 0;
    for (size_t number = 0; number < first && at < text->size(); ++number) {
      const void* hit =
          memmem(text->data() + at, text->size() - at, search_.text.data(), search_.text.size());
      if (!hit) break;
      const auto place = static_cast<size_t>(static_cast<const char*>(hit) - text->data());
      const size_t before = place == 0 ? std::string::npos : text->rfind('\n', place - 1);
      lines.emplace_back(before == std::string::npos ? 0 : before + 1, place);
      if (lines.size() > last) lines.pop_front();
      at = text->find('\n', place);
      if (at == std::string::npos) break;
      ++at;
    }
    std::deque<InLine> found;
    for (const auto& [line, hit] : lines) found.push_back({line, TextAround(chunk, hit)});
    return found;
  }

  const LogFile& file_;
  const Search& search_;
  const std::function<bool()>& cancelled_;
  const bool fold_;
  std::string folded_;
  Hits found_;
};

}  // namespace

Result<LogFile> LogFile::Open(const std::string& folder, uint32_t rank, bool err) {
  const std::string path = folder + "/rank-" + std::to_string(rank) + (err ? ".err" : ".out");
  AD_ASSIGN_OR_RETURN(base::UniqueFd fd, base::OpenOwnFile(path));
  return LogFile(std::move(fd));
}

uint64_t LogFile::Size() const {
  struct stat info;
  return fstat(fd_.get(), &info) == 0 && info.st_size > 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

std::string LogFile::Read(uint64_t from, size_t bytes) const {
  const uint64_t size = Size();
  if (from >= size) return "";
  std::string data(std::min<uint64_t>(bytes, size - from), '\0');
  size_t there = 0;
  while (there < data.size()) {
    const ssize_t got = pread(fd_.get(), data.data() + there, data.size() - there,
                              static_cast<off_t>(from + there));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    there += static_cast<size_t>(got);
  }
  data.resize(there);
  return data;
}

Hits Find(const LogFile& file, const Search& search, const std::function<bool()>& cancelled) {
  Finder finder(file, search, cancelled);
  return search.backwards ? finder.Backwards() : finder.Forwards();
}

}  // namespace autodist::web
