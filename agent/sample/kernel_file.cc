#include "agent/sample/kernel_file.h"

#include <fcntl.h>
#include <unistd.h>

namespace autodist::agent {
namespace {

constexpr size_t kFirstSize = 16 << 10;         // bytes
constexpr size_t kLargestKernelFile = 4 << 20;  // of a node with thousands of CPUs

}  // namespace

std::string_view TextBuffer::Read(int fd) {
  if (text_.empty()) text_.resize(kFirstSize);
  size_t size = 0;
  for (;;) {
    const ssize_t got =
        pread(fd, text_.data() + size, text_.size() - size, static_cast<off_t>(size));
    if (got <= 0) return got < 0 ? std::string_view() : std::string_view(text_.data(), size);
    size += static_cast<size_t>(got);
    if (size < text_.size()) continue;
    if (size >= kLargestKernelFile) return {};
    text_.resize(2 * size);
  }
}

std::string_view TextBuffer::ReadAt(int at, const char* path) {
  const base::UniqueFd fd(openat(at, path, O_RDONLY | O_CLOEXEC));
  return fd.valid() ? Read(fd.get()) : std::string_view();
}

std::string_view TextBuffer::Read(const std::string& path) {
  return ReadAt(AT_FDCWD, path.c_str());
}

std::string_view KernelFile::Read(TextBuffer& buffer) {
  if (!fd_.valid()) fd_.Reset(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd_.valid()) return {};
  const std::string_view text = buffer.Read(fd_.get());
  if (text.empty()) fd_.Reset();  // for example of a removed device
  return text;
}

}  // namespace autodist::agent
