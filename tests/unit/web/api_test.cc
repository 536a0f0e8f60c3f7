#include "web/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <utility>

#include "control/job_record.h"
#include "control/job_server.h"
#include "support/example_snapshot.h"
#include "support/session.h"

namespace autodist::web {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kShown[] = "20261123-171502-aaaaaa";
constexpr char kOther[] = "20261123-171503-bbbbbb";

// A running job with a log.
class RunningJob {
 public:
  RunningJob(const test::Session& session, const std::string& id)
      : id_(id), folder_(session.folder().path() + "/" + id) {
    control::JobRequests requests;
    requests.signal = [this](int signal, const std::string& by) {
      EXPECT_EQ(by, "the web page");
      signal_ = signal;
    };
    requests.get_status = [this](const auto& answer) { answer(Status()); };
    requests.get_stacks = [](const auto&, const auto& answer) { answer(v1::JobStacks()); };
    requests.snapshots.snapshot = [this](const v1::GetSnapshotRequest&, const auto& answer) {
      v1::JobSnapshot snapshot = test::ExampleSnapshot();
      *snapshot.mutable_job() = Status();
      answer(std::make_shared<const v1::JobSnapshot>(std::move(snapshot)));
    };
    requests.snapshots.history = [](const auto&, const auto& answer) { answer(v1::History()); };
    requests.snapshots.diagnosis = [this](const auto& answer) {
      ++diagnoses_;
      v1::JobDiagnosis diagnosis;
      diagnosis.set_kind(v1::JobDiagnosis::KIND_OK);
      diagnosis.mutable_issue()->set_what("nothing is wrong: steps continue");
      answer(diagnosis);
    };
    EXPECT_TRUE(control::RecordJob(Status(), Status().log_folder()).ok());
    std::ofstream(folder_ + "/rank-0.out") << "secret of " << id << "\n";
    server_ = *control::JobServer::Start(id, std::move(requests));
  }
  int signal() const { return signal_; }
  int diagnoses() const { return diagnoses_; }

 private:
  v1::JobStatus Status() const {
    v1::JobStatus status;
    status.set_job_id(id_);
    status.set_phase(v1::JOB_PHASE_RUNNING);
    status.set_log_folder(folder_);
    status.set_attempt_folder(folder_);
    return status;
  }

  const std::string id_;
  const std::string folder_;
  std::atomic<int> signal_ = 0;
  std::atomic<int> diagnoses_ = 0;
  std::unique_ptr<control::JobServer> server_;
};

class ApiTest : public testing::Test {
 protected:
  static http::Answer Ask(Api& api, const std::string& method, const std::string& path,
                          std::map<std::string, std::string> parameters = {}) {
    return api.Handle({.method = method,
                       .path = path,
                       .parameters = std::move(parameters),
                       .header = [](const char*) { return std::string(); },
                       .gone = [] { return false; }});
  }
  static std::string OfJob(const std::string& job, const std::string& what) {
    return "/api/jobs/" + job + "/" + what;
  }

  const test::Session session_;
  RunningJob shown_{session_, kShown};
  RunningJob other_{session_, kOther};
  const Access access_{true};
  std::stop_source stop_;
  Api all_{access_, kShown, false, stop_.get_token()};
  Api one_{access_, kShown, true, stop_.get_token()};
};

// The page of `run --web`, which has the address of one job.
TEST_F(ApiTest, APageOfOneJobServesOnlyThat) {
  for (const char* what :
       {"events", "history", "snapshot", "why", "log/0", "log/0/follow", "search/0"}) {
    const std::map<std::string, std::string> query = {{"q", "secret"}};
    EXPECT_EQ(Ask(one_, "GET", OfJob(kShown, what), query).status, 200) << what;
    const http::Answer refused = Ask(one_, "GET", OfJob(kOther, what), query);
    EXPECT_EQ(refused.status, 404) << what;
    EXPECT_FALSE(refused.next) << what;
    EXPECT_THAT(refused.body, Not(HasSubstr("secret of"))) << what;
  }
  EXPECT_EQ(Ask(one_, "POST", "/api/stop", {{"job", kOther}}).status, 404);
  EXPECT_EQ(Ask(one_, "POST", "/api/stacks", {{"job", kOther}}).status, 404);
  EXPECT_EQ(other_.signal(), 0);
  EXPECT_EQ(Ask(one_, "POST", "/api/stop", {{"job", kShown}}).status, 200);
  EXPECT_EQ(shown_.signal(), SIGTERM);
  EXPECT_THAT(Ask(one_, "GET", "/api/jobs").body, AllOf(HasSubstr(kShown), Not(HasSubstr(kOther))));
}

TEST_F(ApiTest, TheDiagnosisIsThatOfWhy) {
  EXPECT_THAT(
      Ask(one_, "GET", OfJob(kShown, "why")).body,
      AllOf(HasSubstr(R"("diagnosis":"ok")"), HasSubstr(R"("job_id":")" + std::string(kShown)),
            HasSubstr("nothing is wrong: steps continue")));
}

// A diagnosis stops ranks for a moment.
TEST_F(ApiTest, ViewersWithoutActionsDoNotRepeatADiagnosis) {
  const Access read_only{false};
  Api api{read_only, kShown, true, stop_.get_token()};
  const std::string first = Ask(api, "GET", OfJob(kShown, "why")).body;
  EXPECT_THAT(first, HasSubstr("nothing is wrong"));
  EXPECT_EQ(Ask(api, "GET", OfJob(kShown, "why")).body, first);
  EXPECT_EQ(shown_.diagnoses(), 1);
  for (int i = 0; i < 2; ++i) (void)Ask(one_, "GET", OfJob(kShown, "why"));
  EXPECT_EQ(shown_.diagnoses(), 3);
}

TEST_F(ApiTest, APageOfAllJobsServesThemAll) {
  EXPECT_THAT(Ask(all_, "GET", "/api/jobs").body, AllOf(HasSubstr(kShown), HasSubstr(kOther)));
  for (const char* job : {kShown, kOther}) {
    EXPECT_EQ(Ask(all_, "GET", OfJob(job, "log/0")).body, "secret of " + std::string(job) + "\n");
    EXPECT_THAT(Ask(all_, "GET", OfJob(job, "search/0"), {{"q", "SECRET"}}).body,
                HasSubstr("\"hits\""));
  }
  EXPECT_EQ(Ask(all_, "POST", "/api/stacks", {{"job", kOther}}).status, 200);
  EXPECT_EQ(Ask(all_, "POST", "/api/stop", {{"job", kOther}}).status, 200);
  EXPECT_EQ(other_.signal(), SIGTERM);
}

TEST_F(ApiTest, MissingResourcesAreRefused) {
  for (const char* path :
       {"/api/", "/api/jobs/", "/api/jobs/x", "/api/job", "/api/jobs/x/snapshot"}) {
    EXPECT_EQ(Ask(all_, "GET", path).status, 404) << path;
  }
  for (const char* what : {"", "logs/0", "log", "log/x", "log/-1", "log/0/x", "log/0/follow/x",
                           "log/99999999999", "log/7", "log/../0", "search/7"}) {
    EXPECT_EQ(Ask(all_, "GET", OfJob(kShown, what), {{"q", "x"}}).status, 404) << what;
  }
  EXPECT_EQ(Ask(all_, "POST", "/api/jobs").status, 404);
  EXPECT_EQ(Ask(all_, "GET", OfJob(kShown, "search/0")).status, 400);
  EXPECT_EQ(Ask(all_, "GET", OfJob(kShown, "search/0"), {{"q", std::string(1025, 'x')}}).status,
            400);
}

TEST_F(ApiTest, RangesOfALogHaveTheirPosition) {
  const http::Answer piece =
      Ask(all_, "GET", OfJob(kShown, "log/0"), {{"from", "7"}, {"bytes", "2"}});
  EXPECT_EQ(piece.body, "of");
  EXPECT_EQ(piece.headers[0], std::pair(std::string("X-Log-From"), std::string("7")));
  EXPECT_EQ(Ask(all_, "GET", OfJob(kShown, "log/0"), {{"stream", "err"}}).status, 404);
}

TEST_F(ApiTest, ViewersAndFollowersAreLimited) {
  for (const char* what : {"events", "log/0/follow"}) {
    std::vector<http::Answer> streams;
    for (size_t i = 0; i < kMaxViewers; ++i) {
      streams.push_back(Ask(all_, "GET", OfJob(kShown, what)));
      ASSERT_EQ(streams.back().status, 200) << what;
    }
    EXPECT_EQ(Ask(all_, "GET", OfJob(kShown, what)).status, 503) << what;
    streams.pop_back();
    EXPECT_EQ(Ask(all_, "GET", OfJob(kShown, what)).status, 200) << what;
  }
}

}  // namespace
}  // namespace autodist::web
