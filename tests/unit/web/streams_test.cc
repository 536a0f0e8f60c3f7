#include "web/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <utility>

#include "control/job_server.h"
#include "support/example_snapshot.h"
#include "support/session.h"
#include "support/temp_folder.h"

namespace autodist::web {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class TailTest : public testing::Test {
 protected:
  void Append(const std::string& text) const {
    std::ofstream(folder_.path() + "/rank-0.out", std::ios::app | std::ios::binary) << text;
  }
  // From this byte on.
  http::Answer Tail(uint64_t from) {
    auto file = LogFile::Open(folder_.path(), 0, false);
    EXPECT_TRUE(file.ok()) << file.status();
    return TailStream(std::make_shared<const LogFile>(*std::move(file)), from,
                      {stop_.get_token(), [this] { return gone_.load(); }, nullptr});
  }
  static std::string Next(const http::Answer& stream) {
    const http::Answer::Piece piece = stream.next();
    return piece ? *piece : "over";
  }

  const test::TempFolder folder_;
  std::stop_source stop_;
  std::atomic<bool> gone_ = false;
};

TEST_F(TailTest, StartsWithTheExistingTextAndContinuesWithNewText) {
  Append("one\ntwo\n");
  const http::Answer stream = Tail(4);
  EXPECT_EQ(stream.type, "text/event-stream");
  EXPECT_THAT(Next(stream), AllOf(StartsWith("event: tail\ndata: {"), EndsWith("}\n\n"),
                                  HasSubstr(R"("from":4)"), HasSubstr(R"("text":"two\n")")));
  Append("three\n");
  EXPECT_THAT(Next(stream), AllOf(HasSubstr(R"("from":8)"), HasSubstr(R"("text":"three\n")")));
}

TEST_F(TailTest, ACharacterIsSentCompletely) {
  Append("a\xE2\x82");
  const http::Answer stream = Tail(0);
  EXPECT_THAT(Next(stream), AllOf(HasSubstr(R"("text":"a")"), HasSubstr(R"("to":1)")));
  Append("\xAC");
  EXPECT_THAT(Next(stream), AllOf(HasSubstr("\xE2\x82\xAC"), HasSubstr(R"("from":1)")));
}

TEST_F(TailTest, AFloodIsCutToItsEndAndATruncatedFileIsSentCompletely) {
  Append(std::string(1 << 20, 'x'));
  const http::Answer stream = Tail(0);
  EXPECT_THAT(Next(stream), HasSubstr(R"("from":983040)"));  // 64 KiB before its end
  Append(std::string("y\n"));
  EXPECT_THAT(Next(stream), HasSubstr(R"("text":"y\n")"));
  std::ofstream(folder_.path() + "/rank-0.out", std::ios::trunc) << "new\n";
  EXPECT_THAT(Next(stream), AllOf(HasSubstr(R"("from":0)"), HasSubstr(R"("text":"new\n")")));
}

TEST_F(TailTest, EndsWhenItsViewerLeavesOrTheServerEnds) {
  Append("x");
  const http::Answer left = Tail(0);
  EXPECT_NE(Next(left), "over");
  gone_ = true;
  EXPECT_EQ(Next(left), "over");
  gone_ = false;
  const http::Answer ended = Tail(0);
  EXPECT_NE(Next(ended), "over");
  stop_.request_stop();
  EXPECT_EQ(Next(ended), "over");
}

class SnapshotStreamTest : public testing::Test {
 protected:
  SnapshotStreamTest() {
    control::JobRequests requests;
    requests.snapshots.snapshot = [this](const v1::GetSnapshotRequest&, const auto& answer) {
      v1::JobSnapshot snapshot = test::ExampleSnapshot();
      snapshot.set_version(version_);
      snapshot.mutable_job()->set_job_id("job-1");
      if (ended_) snapshot.mutable_job()->set_phase(v1::JOB_PHASE_ENDED);
      answer(std::make_shared<const v1::JobSnapshot>(std::move(snapshot)));
    };
    auto job = control::JobServer::Start("job-1", std::move(requests));
    EXPECT_TRUE(job.ok()) << job.status();
    job_ = *std::move(job);
  }
  http::Answer Stream() {
    return SnapshotStream(std::make_shared<JobSubscription>("job-1"),
                          {stop_.get_token(), [this] { return gone_.load(); }, limit_.Take()});
  }

  const test::Session session_;
  std::atomic<uint64_t> version_ = 1;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> gone_ = false;
  std::stop_source stop_;
  ConnectionLimit limit_{1};
  std::unique_ptr<control::JobServer> job_;
};

TEST_F(SnapshotStreamTest, HasEachSnapshotAndEndsWithTheJob) {
  const http::Answer stream = Stream();
  EXPECT_THAT(*stream.next(), AllOf(StartsWith("event: snapshot\ndata: {"), EndsWith("}\n\n"),
                                    HasSubstr(R"("version":1)")));
  version_ = 2;
  EXPECT_THAT(*stream.next(), HasSubstr(R"("version":2)"));
  ended_ = true;
  version_ = 3;
  EXPECT_THAT(*stream.next(), HasSubstr(R"("state":"ended")"));
  EXPECT_EQ(*stream.next(), "event: end\ndata: {}\n\n");
  EXPECT_EQ(stream.next(), nullptr);
}

TEST_F(SnapshotStreamTest, ASeatIsReleasedWithTheStream) {
  {
    const http::Answer stream = Stream();
    EXPECT_EQ(limit_.taken(), 1u);
    EXPECT_NE(stream.next(), nullptr);
    gone_ = true;
    EXPECT_EQ(stream.next(), nullptr);
  }
  EXPECT_EQ(limit_.taken(), 0u);
}

}  // namespace
}  // namespace autodist::web
