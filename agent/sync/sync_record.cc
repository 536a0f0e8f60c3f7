#include "agent/sync/sync_record.h"

#include <cstdint>
#include <string_view>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/split.h"
#include "files/digest.h"
#include "files/file_tree.h"
#include "files/temporary_file.h"

namespace autodist::agent {
namespace {

constexpr size_t kFingerprintSize = 32;            // hexadecimal digits
constexpr size_t kLargestSyncRecord = 128u << 20;  // bytes: four million files

std::string FingerprintOf(const v1::FileEntry& entry, const struct stat& here) {
  const uint64_t numbers[] = {entry.size(),
                              static_cast<uint64_t>(entry.modified_ns()),
                              static_cast<uint64_t>(entry.changed_ns()),
                              entry.inode(),
                              static_cast<uint64_t>(here.st_ino),
                              static_cast<uint64_t>(files::ModifiedNs(here)),
                              static_cast<uint64_t>(files::ChangedNs(here))};
  files::Digest digest;
  digest.Add(entry.path());
  digest.Add({reinterpret_cast<const char*>(numbers), sizeof numbers});
  return digest.Hex().substr(0, kFingerprintSize);
}

}  // namespace

SyncRecord SyncRecord::Read(int folder) {
  SyncRecord record;
  const base::UniqueFd fd = files::OpenFileIn(folder, files::kSyncRecord);
  if (!fd.valid()) return record;
  const auto text = base::ReadWhole(fd.get(), files::kSyncRecord, kLargestSyncRecord);
  if (!text.ok()) return record;
  for (const std::string_view line : base::Lines(*text)) {
    if (line.size() == kFingerprintSize) record.known_.emplace(line);
  }
  return record;
}

bool SyncRecord::Has(const v1::FileEntry& entry, const struct stat& here) const {
  return known_.contains(FingerprintOf(entry, here));
}

void SyncRecord::Add(const v1::FileEntry& entry, const struct stat& here) {
  added_ += FingerprintOf(entry, here) + "\n";
}

void SyncRecord::Save(int folder) const {
  auto file = files::TemporaryFile::Create(folder);
  if (!file.ok()) return;
  const auto never = base::Deadline::Never();
  if (base::WriteAll(file->fd(), added_, never).ok()) (void)file->Keep(files::kSyncRecord).ok();
}

}  // namespace autodist::agent
