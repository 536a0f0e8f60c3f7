#include "display/log_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"

namespace autodist::display {
namespace {

constexpr size_t kPiece = 256 * 1024;

base::UniqueFd OpenToRead(const std::string& path) {
  return base::UniqueFd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY));
}

// Reads at most the size of `text`.
void ReadInto(const base::UniqueFd& file, uint64_t from, std::string& text) {
  const ssize_t got = pread(file.get(), text.data(), text.size(), static_cast<off_t>(from));
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
}

}  // namespace

std::string LogName(uint32_t rank, Stream stream) {
  return "rank-" + std::to_string(rank) + (stream == kStdout ? ".out" : ".err");
}

std::string LogPath(const std::string& folder, uint32_t rank, Stream stream) {
  return folder + "/" + LogName(rank, stream);
}

void ReadPieces(const std::string& path, uint64_t from,
                const std::function<bool(std::string_view piece)>& take) {
  const base::UniqueFd file = OpenToRead(path);
  std::string piece;
  do {
    from += piece.size();
    piece.resize(kPiece);
    ReadInto(file, from, piece);
  } while (!piece.empty() && take(piece));
}

std::optional<FileEnd> ReadEnd(const std::string& path, size_t most) {
  const base::UniqueFd file = OpenToRead(path);
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0) return std::nullopt;
  const auto size = static_cast<uint64_t>(info.st_size);
  FileEnd end{size - std::min<uint64_t>(size, most), std::string(most, '\0')};
  ReadInto(file, end.begin, end.text);
  return end;
}

}  // namespace autodist::display
