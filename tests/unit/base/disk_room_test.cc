#include "base/disk_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(DiskRoomTest, AnEmptySmallDiskIsNotFull) {
  constexpr uint64_t kKib = 1024;
  constexpr uint64_t kMib = 1024 * kKib;
  struct {
    uint64_t size;
    uint64_t free;
    bool no_room;
    const char* text;
  } const rows[] = {
      {256 * kKib, 0, true, "is full"},
      {256 * kKib, 256 * kKib, false, "has little room: 256 KiB free"},
      {256 * kKib, 512, true, "is nearly full: 512 bytes free"},
      {100 * kMib, 99 * kMib, false, "has little room: 99.0 MiB free"},
      {100 * kMib, 4 * kMib, true, "is nearly full: 4.0 MiB free"},
      {1'000'000 * kMib, 15 * kMib, true, "is nearly full: 15.0 MiB free"},
      {1'000'000 * kMib, 99 * kMib, false, "is nearly full: 99.0 MiB free"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(HasNoRoom(row.size, row.free), row.no_room) << row.text;
    EXPECT_EQ(RoomText(row.size, row.free), row.text);
  }
}

}  // namespace
}  // namespace autodist::base
