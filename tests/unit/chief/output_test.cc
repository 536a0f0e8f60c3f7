#include "chief/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/plans.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using testing::ElementsAre;

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    auto writer = OutputWriter::Create(test::ThreeNodePlan(), folder_.path() + "/runs/job",
                                       [this](uint32_t node_rank, const v1::OutputAck& ack) {
                                         acked_.push_back({node_rank, ack.rank(), ack.offset()});
                                       });
    ASSERT_TRUE(writer.ok()) << writer.status();
    writer_ = std::move(*writer);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
  }

  void Write(uint32_t rank, const std::string& data,
             v1::OutputStream stream = v1::OUTPUT_STREAM_STDOUT) {
    v1::Output output;
    output.set_rank(rank);
    output.set_stream(stream);
    output.set_offset(offset_[{rank, stream}]);
    output.set_data(data);
    offset_[{rank, stream}] += data.size();
    writer_->Write(std::move(output));
  }

  const test::TempFolder folder_;
  std::unique_ptr<OutputWriter> writer_;
  std::map<std::pair<uint32_t, int>, uint64_t> offset_;
  std::vector<std::array<uint64_t, 3>> acked_;  // on the writer's thread until Finish
};

TEST_F(OutputTest, LinesAreWholeAndPrefixed) {
  Write(0, "half");
  Write(2, "a line\nand ");
  Write(0, " a line\n");
  Write(2, "more");
  writer_->Finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "[10.0.0.2:2] a line\n[10.0.0.1:0] half a line\n[10.0.0.2:2] and more\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(OutputTest, StderrGoesToStderr) {
  Write(4, "out\n");
  Write(4, "err\n", v1::OUTPUT_STREAM_STDERR);
  writer_->Finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[node3:4] out\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[node3:4] err\n");
  EXPECT_THAT(writer_->LastLines(4), ElementsAre("out", "err"));
}

TEST_F(OutputTest, FilesHaveTheBytesAsTheyWere) {
  const std::string bytes("no end\0\xff\r", 9);
  Write(1, bytes);
  Write(1, "e", v1::OUTPUT_STREAM_STDERR);
  writer_->Finish();
  EXPECT_EQ(folder_.Read("runs/job/rank-1.out"), bytes);
  EXPECT_EQ(folder_.Read("runs/job/rank-1.err"), "e");
  EXPECT_EQ(folder_.Read("runs/job/rank-0.out"), "");
  struct stat info;
  ASSERT_EQ(stat((folder_.path() + "/runs/job/rank-1.out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
}

TEST_F(OutputTest, AcknowledgesWhatIsWritten) {
  Write(3, "12345");
  Write(3, "678");
  writer_->Finish();
  EXPECT_THAT(acked_,
              ElementsAre(std::array<uint64_t, 3>{1, 3, 5}, std::array<uint64_t, 3>{1, 3, 8}));
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
}

TEST_F(OutputTest, KeepsTheLastLines) {
  for (int i = 0; i < 50; ++i) Write(0, "line " + std::to_string(i) + "\n");
  writer_->Finish();
  EXPECT_EQ(writer_->LastLines(0).size(), 10u);
  EXPECT_EQ(writer_->LastLines(0).back(), "line 49");
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace autodist::chief
