#include "progress/progress_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>

namespace autodist::progress {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

const Time kBegin = Time{} + std::chrono::hours(1);

std::optional<v1::Progress> Read(std::string_view line) {
  return ProgressReader().Take(line, kBegin);
}

double MetricOf(const v1::Progress& progress, const std::string& name) {
  for (const v1::Metric& metric : progress.metrics()) {
    if (metric.name() == name) return metric.value();
  }
  ADD_FAILURE() << "no metric " << name << " in " << progress.ShortDebugString();
  return 0;
}

std::vector<std::string> MetricNames(const v1::Progress& progress) {
  std::vector<std::string> names;
  for (const v1::Metric& metric : progress.metrics()) names.push_back(metric.name());
  return names;
}

struct Moment {
  double time = 0;  // seconds
  v1::Progress progress;
};

// The progress at each line of a recording: "milliseconds TAB output".
std::vector<Moment> Replay(const std::string& name, std::optional<uint64_t> epochs = {}) {
  std::ifstream file(TEST_SOURCE_DIR "/unit/progress/recorded/" + name + ".txt");
  std::vector<Moment> moments;
  ProgressReader reader(std::nullopt, epochs);
  for (std::string line; std::getline(file, line);) {
    const int64_t time = std::stoll(line);
    const auto progress = reader.Take(std::string_view(line).substr(line.find('\t') + 1),
                                      kBegin + milliseconds(time));
    if (progress) moments.push_back({static_cast<double>(time) / 1000, *progress});
  }
  EXPECT_FALSE(moments.empty()) << name;
  return moments;
}

void ExpectNoFall(const std::vector<Moment>& moments) {
  for (size_t i = 1; i < moments.size(); ++i) {
    EXPECT_GE(moments[i].progress.step(), moments[i - 1].progress.step())
        << moments[i].progress.ShortDebugString();
  }
}

// Checks the ETA at half of the time.
void ExpectGoodEta(const std::vector<Moment>& moments) {
  const double end = moments.back().time;
  for (const Moment& moment : moments) {
    if (moment.time < end / 2) continue;
    ASSERT_TRUE(moment.progress.has_eta()) << moment.progress.ShortDebugString();
    EXPECT_NEAR(moment.progress.eta(), end - moment.time, (end - moment.time) * 0.2)
        << moment.progress.ShortDebugString();
    return;
  }
}

TEST(ProgressReaderTest, SupportsTqdm) {
  const auto progress =
      Read("epoch 0:  87%|████████▋ | 52/60 [00:02<00:00, 19.87it/s, loss=1.205]");
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 52u);
  EXPECT_EQ(progress->what(), "epoch 0");
  EXPECT_EQ(progress->source(), "bar");
  EXPECT_DOUBLE_EQ(progress->rate(), 19.87);
  EXPECT_DOUBLE_EQ(MetricOf(*progress, "loss"), 1.205);
  EXPECT_FALSE(progress->has_total()) << "how many epochs there will be is unknown";
}

TEST(ProgressReaderTest, SupportsEveryKindOfTqdm) {
  struct Case {
    const char* line;
    uint64_t step;
    uint64_t total;
    double rate;  // 0: unknown
  };
  for (const Case& one : {
           Case{" 45%|####5     | 45/100 [00:09<00:11,  5.00it/s]", 45, 100, 5},
           Case{"  1%|1         | 1/100 [00:02<03:18,  2.00s/it]", 1, 100, 0.5},
           Case{"  0%|          | 0/100 [00:00<?, ?it/s]", 0, 100, 0},
           Case{" 50%|█████     | 5/10 [1:02:03<25:03:04, 12.5s/batch, acc=93.1%, lr=1e-05]", 5, 10,
                0.08},
           Case{" 50%|█████     | 5/10 [1 day, 2:03:04<2 days, 3:04:05, 12.5s/it]", 5, 10, 0.08},
           Case{" 20%|██        | 1.00M/5.00M [00:10<00:40, 100ktok/s]", 1'000'000, 5'000'000,
                100'000},
           Case{" 87% 52/60 [00:02<00:00, 20.00it/s]", 52, 60, 20},
           Case{"100%|██████████| 60/60 [00:02<00:00, 20.00it/s]\r", 60, 60, 20},
           Case{"acc 93%:  50%|█████     | 30/60 [00:02<00:00, 20.00it/s]", 30, 60, 20},
       }) {
    const auto progress = Read(one.line);
    ASSERT_TRUE(progress) << one.line;
    EXPECT_EQ(progress->step(), one.step) << one.line;
    EXPECT_EQ(progress->total(), one.total) << one.line;
    EXPECT_EQ(progress->has_rate(), one.rate > 0) << one.line;
    EXPECT_NEAR(progress->rate(), one.rate, one.rate * 1e-9) << one.line;
  }
}

TEST(ProgressReaderTest, SupportsTqdmWithoutTotal) {
  for (const char* line : {"52it [00:02, 19.87it/s]", "train: 52it [00:02, 19.87it/s, loss=2]",
                           "52 batches [00:02, 19.87 batches/s]"}) {
    const auto progress = Read(line);
    ASSERT_TRUE(progress) << line;
    EXPECT_EQ(progress->step(), 52u);
    EXPECT_FALSE(progress->has_total());
    EXPECT_DOUBLE_EQ(progress->rate(), 19.87);
  }
}

TEST(ProgressReaderTest, ParsesCommonFormatsOfMetrics) {
  const auto progress = Read(
      "Epoch 3:  50%|█████     | 5/10 [00:00<00:00, 12.3it/s, v_num=0, train/loss=nan, "
      "acc=93.1%, lr=5e-05, gpu=3.1GiB, note=none]");
  ASSERT_TRUE(progress);
  EXPECT_THAT(MetricNames(*progress), ElementsAre("train/loss", "acc", "lr"));
  EXPECT_TRUE(std::isnan(MetricOf(*progress, "train/loss")));
  EXPECT_DOUBLE_EQ(MetricOf(*progress, "acc"), 93.1);
}

TEST(ProgressReaderTest, SupportsLightningsRichBar) {
  ProgressReader reader;
  auto progress = reader.Take(
      "Epoch 3/9 \x1b[38;5;99m━━━━━━━━━━━━╸\x1b[0m━━━━━━━ 5/10 0:00:01 • 0:00:02 4.10it/s v_num: "
      "0.000 train_loss: 0.123",
      kBegin);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 35u) << "epochs are counted from 0";
  EXPECT_EQ(progress->total(), 100u) << "and the number of the last one is known";
  EXPECT_EQ(progress->what(), "Epoch 3/9");
  EXPECT_DOUBLE_EQ(progress->rate(), 4.1);
  EXPECT_THAT(MetricNames(*progress), ElementsAre("train_loss"));
  progress = reader.Take("Epoch 4/9 ━━━━━━━━━━━━━━━━━━ 0/10 0:00:00 • -:--:-- 0.00it/s ",
                         kBegin + seconds(3));
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 40u);
}

TEST(ProgressReaderTest, IgnoresEvaluationsAndPreparations) {
  for (const char* line :
       {"Validation DataLoader 0:  50%|█████     | 5/10 [00:00<00:00, 12.3it/s]",
        "Sanity Checking DataLoader 0: 100%|██████████| 2/2 [00:00<00:00, 12.3it/s]",
        "Evaluating:  50%|█████     | 5/10 [00:00<00:00, 12.3it/s]",
        "Epoch 3 [val]:  50%|█████     | 5/10 [00:00<00:00, 12.3it/s]",
        "Validation ━━━━━━━━━━━━━━━━━━ 3/10 0:00:00 • 0:00:01 4.00it/s ",
        "Map: 100%|██████████| 5000/5000 [00:01<00:00, 4000.12 examples/s]",
        "Tokenizing train dataset:  50%|█████     | 5/10 [00:00<00:00, 12.3it/s]",
        "Loading checkpoint shards: 100%|██████████| 2/2 [00:03<00:00, 1.50s/it]",
        "Generating train split: 8551 examples [00:00, 12345.67 examples/s]",
        "model.safetensors:  45%|████▌     | 246M/548M [00:02<00:03, 99.1MB/s]"}) {
    EXPECT_FALSE(Read(line)) << line;
  }
}

TEST(ProgressReaderTest, IgnoresOtherText) {
  for (const char* line : {
           "",
           " ",
           "hello",
           "2024-05-01 12:00:00,123 INFO: loaded 52/60 files (87%)",
           "GET /index.html HTTP/1.1 200 [00:02]",
           "memory 87% | 52/60",
           "100%",
           "  87%|███ | 52/60",
           "  87%|███ | 52/60 [",
           "  87%|███ | 52/60 [ab:cd<00:00, 1it/s]",
           "disk 87% 52/60 [sda1]",
           "[00:02<00:00, 19.87it/s]",
           "it [00:02, 19.87it/s]",
           "downloaded 52files [00:02, fast]",
           "epoch 3 of 10 begins",
           "step 30/100",
           "epoch: [1/20] step: [30",
           "iteration 200/ 1000",
           "{'loss': 1.2}",
           "{'loss': 1.2, 'epoch': 'x'}",
           "{'loss': 1.2, 'epoch': 0.12",
           "{'a': 1, 'epoch': 0.12}",
           "{'loss': 1.2, 'epoch': 0.12} done",
           "{\"loss\": 1.2, \"epoch\": 0.12}",
           "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━",
           "━━━━━━━ 5/10 tests",
           "Epoch(val) [1][ 50/100]    eta: 0:00:10",
           "Val Epoch: [1][ 50/100]",
           "Test: [ 10/196]  Time 0.1",
           "batch [3/10] is slow",
           "step=30, lr=[0.1]",
           "NCCL INFO Channel 00/02 : 0 1",
           "tests/test_a.py ....... [ 52%]",
           "[ 87%] Building CXX object foo.cc.o",
           "[52/60] Linking CXX executable",
           "iter 5: took 3 s",
           "Train: 3 files [ 1/2 (50%)]x",
           "loss is nan",
       }) {
    EXPECT_FALSE(Read(line)) << line;
  }
}

TEST(ProgressReaderTest, ParsesTheTrainersDictBesideItsBar) {
  ProgressReader reader;
  auto progress = reader.Take("  5%|▌         | 5/100 [00:01<00:19,  5.00it/s]", kBegin);
  ASSERT_TRUE(progress);
  progress =
      reader.Take("{'loss': 1.2, 'grad_norm': 3.1, 'learning_rate': 5e-05, 'epoch': 0.12}", kBegin);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 5u);
  EXPECT_EQ(progress->total(), 100u);
  EXPECT_EQ(progress->source(), "bar");
  EXPECT_DOUBLE_EQ(MetricOf(*progress, "loss"), 1.2);
  progress = reader.Take(
      "{'loss': '0.9', 'grad_norm': 'nan', 'learning_rate': '4e-05', 'epoch': '0.2'}", kBegin);
  ASSERT_TRUE(progress) << "newer versions write text";
  EXPECT_DOUBLE_EQ(MetricOf(*progress, "loss"), 0.9);
  EXPECT_DOUBLE_EQ(MetricOf(*progress, "epoch"), 0.2);
  progress = reader.Take("{'eval_loss': 0.8, 'eval_runtime': 1.5, 'epoch': 0.2}", kBegin);
  ASSERT_TRUE(progress);
  EXPECT_DOUBLE_EQ(MetricOf(*progress, "eval_loss"), 0.8);
}

TEST(ProgressReaderTest, SupportsLogLines) {
  struct Case {
    const char* line;
    uint64_t step;
    uint64_t total;  // 0: unknown
    const char* metric;
    double value;
    double eta;  // 0: not checked
  };
  for (
      const Case& one : {
          Case{
              " [2024-05-01 12:00:00] iteration      200/    1000 | consumed samples:        51200 "
              "| elapsed time per iteration (ms): 512.3 | learning rate: 1.500E-04 | global batch "
              "size:   256 | lm loss: 2.312345E+00 | loss scale: 1.0 |",
              200, 1000, "lm loss", 2.312345, 0},
          Case{"[2023-06-05 10:00:00] mindocr.utils.callbacks INFO - epoch: [1/20] step: [30/100], "
               "loss: 0.530463, lr: 0.000100, per step time: 123.456 ms, fps per card: 80.0 img/s",
               30, 2000, "loss", 0.530463, 0},
          Case{"05/01 12:00:00 - mmengine - INFO - Epoch(train)  [2][ 50/1875]  lr: 1.0000e-02  "
               "eta: "
               "0:05:00  time: 0.1  data_time: 0.01  memory: 500  loss: 0.5",
               1925, 0, "loss", 0.5, 300},
          Case{
              "05/01 12:00:00 - mmengine - INFO - Iter(train) [  500/160000]  lr: 1.0000e-02  eta: "
              "1 day, 0:05:00  time: 0.1  loss: 0.5",
              500, 160'000, "loss", 0.5, 86'700},
          Case{"2021-01-01 12:00:00,000 - mmdet - INFO - Epoch [1][50/7330]\tlr: 1.978e-03, eta: "
               "5:00:00, time: 0.5, data_time: 0.05, memory: 3000, loss_cls: 1.0, loss: 2.3",
               50, 0, "loss", 2.3, 18'000},
          Case{"[2022/01/01 12:00:00] ppocr INFO: epoch: [1/500], global_step: 10, lr: 0.001000, "
               "loss: 2.3, ips: 16.0 samples/s, eta: 1:02:03",
               10, 0, "loss", 2.3, 3723},
          Case{"[2022/01/01 12:00:00] ppcls INFO: [Train][Epoch 1/120][Iter: 10/5004]lr(Linear): "
               "0.1, loss: 6.9",
               10, 600'480, "loss", 6.9, 0},
          Case{
              "[01/01 12:00:00] ppdet.engine INFO: Epoch: [0] [ 20/100] learning_rate: 0.001 loss: "
              "3.2 eta: 1:00:00 batch_cost: 0.5 ips: 2 images/s",
              20, 0, "loss", 3.2, 3600},
          Case{"Epoch: [0][  10/5005]\tTime  0.5 (0.6)\tLoss: 6.9e+00 (7.0e+00)", 10, 0, "Loss",
               6.9, 0},
          Case{"epoch: 1 step: 100, loss is 0.123", 100, 0, "loss", 0.123, 0},
          Case{"[2024-01-01 00:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, "
               "skipped=0, lr=[0.001], mom=[(0.9, 0.999)]",
               10, 0, "", 0, 0},
          Case{"steps: 10 loss: 0.5123 iter time (s): 0.100 samples/sec: 80.0", 10, 0, "loss",
               0.5123, 0},
          Case{"iter 100: loss 2.3456, time 123.45ms, mfu 12.34%", 100, 0, "loss", 2.3456, 0},
          Case{"Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.95)  Time: 5.1s,   50.10/s", 50, 0,
               "Loss", 6.95, 0},
      }) {
    const auto progress = Read(one.line);
    ASSERT_TRUE(progress) << one.line;
    EXPECT_EQ(progress->step(), one.step) << one.line;
    EXPECT_EQ(progress->total(), one.total) << one.line;
    EXPECT_EQ(progress->source(), "log line");
    if (*one.metric != '\0') {
      EXPECT_DOUBLE_EQ(MetricOf(*progress, one.metric), one.value) << one.line;
    }
    if (one.eta > 0) {
      EXPECT_NEAR(progress->eta(), one.eta, 1) << one.line;
    }
  }
}

TEST(ProgressReaderTest, CountsStepsOverTheEpochsOfLines) {
  ProgressReader reader;
  const auto take = [&](const std::string& line) {
    const auto progress = reader.Take(line, kBegin);
    return progress ? progress->step() : 0;
  };
  EXPECT_EQ(take("epoch: [1/3] step: [50/100], loss: 2"), 50u);
  EXPECT_EQ(take("epoch: [1/3] step: [100/100], loss: 2"), 100u);
  EXPECT_EQ(take("epoch: [2/3] step: [50/100], loss: 1"), 150u);
  const auto last = reader.Take("epoch: [3/3] step: [100/100], loss: 1", kBegin);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->step(), 300u);
  EXPECT_EQ(last->total(), 300u);
  EXPECT_EQ(last->eta(), 0);
  EXPECT_EQ(take("epoch: [1/3] step: [50/100], loss: 2"), 50u) << "a new epoch";
}

TEST(ProgressReaderTest, LogLinesOutrankBars) {
  ProgressReader reader;
  ASSERT_TRUE(reader.Take(" 50%|█████     | 5/10 [00:00<00:00, 12.3it/s]", kBegin));
  ASSERT_TRUE(reader.Take(" iteration 200/ 1000 | lm loss: 2.3 |", kBegin));
  EXPECT_FALSE(reader.Take(" 60%|██████    | 6/10 [00:00<00:00, 12.3it/s]", kBegin));
  const auto reported = reader.TakeProgressLine(R"({"step": 7, "total": 9})", kBegin);
  ASSERT_TRUE(reported);
  EXPECT_EQ(reported->step(), 7u);
  EXPECT_FALSE(reader.Take(" iteration 201/ 1000 | lm loss: 2.3 |", kBegin));
}

TEST(ProgressReaderTest, SupportsJsonLines) {
  ProgressReader reader;
  auto progress = reader.TakeProgressLine(
      R"({"step": 12, "total": 100, "loss": 0.3, "phase": "warm-up", "ok": true, "lr": 1e-5})",
      kBegin);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 12u);
  EXPECT_EQ(progress->total(), 100u);
  EXPECT_EQ(progress->source(), "file");
  EXPECT_THAT(MetricNames(*progress), ElementsAre("loss", "lr"));
  progress = reader.TakeProgressLine(R"({"loss": NaN, "note": "\"NaN\" is -Infinity", "lr": 2e-5})",
                                     kBegin);
  ASSERT_TRUE(progress) << "as Python writes it";
  EXPECT_TRUE(std::isnan(MetricOf(*progress, "loss")));
  EXPECT_EQ(progress->step(), 12u);
  for (const std::string& line :
       {std::string(), std::string("{"), std::string("12"), std::string("[12]"), std::string("{}"),
        std::string(R"({"step": )"), std::string(R"({"a": {"step": 1}})"),
        std::string(R"({"step": -1})"), std::string(R"({"step": 1e99})"),
        std::string(R"({"step": 1e999})"), std::string(R"({"step": "1"})"), std::string(4000, '{'),
        std::string(R"({"a":)") + std::string(4000, '['), std::string("{\"\xff\": 1}")}) {
    EXPECT_FALSE(reader.TakeProgressLine(line, kBegin)) << line;
  }
}

TEST(ProgressReaderTest, SupportsAPattern) {
  auto pattern = Pattern::Parse(R"(done (?P<step>\d+)/(?P<total>\d+), loss (?P<loss>\S+))");
  ASSERT_TRUE(pattern.ok());
  ProgressReader reader(*pattern);
  EXPECT_FALSE(reader.Take(" 50%|█████     | 5/10 [00:00<00:00, 12.3it/s]", kBegin));
  EXPECT_FALSE(reader.TakeProgressLine(R"({"step": 12})", kBegin));
  auto progress = reader.Take("now done 12/50, loss 0.5", kBegin);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 12u);
  EXPECT_EQ(progress->total(), 50u);
  EXPECT_EQ(progress->source(), "pattern");
  EXPECT_DOUBLE_EQ(MetricOf(*progress, "loss"), 0.5);
  progress = reader.Take("now done 13/50, loss none", kBegin);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 13u);
}

TEST(ProgressReaderTest, CountsStepsOverEpochsOfAPattern) {
  ProgressReader reader(
      Pattern::Parse(R"(^E(?P<epoch>\d+)/(?P<epochs>\d+) (?P<step>\d+)/(?P<total>\d+)$)").value());
  ASSERT_TRUE(reader.Take("E1/4 8/10", kBegin));
  const auto progress = reader.Take("E2/4 2/10", kBegin);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 12u);
  EXPECT_EQ(progress->total(), 40u);
}

TEST(PatternTest, RefusesInvalidPatterns) {
  const auto message = [](const std::string& text) {
    return Message(Pattern::Parse(text).status());
  };
  EXPECT_EQ(message("step (?P<step>[0-9+)"),
            "'step (?P<step>[0-9+)' is no regular expression at character 15: missing ]: [0-9+)");
  EXPECT_EQ(message("step [0-9]+"), "'step [0-9]+' names no group");
  EXPECT_THAT(message("(?P<a>.{1000}{1000})"), testing::HasSubstr("is no regular expression"));
  EXPECT_THAT(message(std::string(10'000, 'a')), testing::HasSubstr("too long"));
}

TEST(ProgressReaderTest, MatchesOnlyTheStartOfALine) {
  const std::string far =
      std::string(kLookedAt, ' ') + " 45%|####5     | 45/100 [00:09<00:11,  5.00it/s]";
  EXPECT_FALSE(Read(far));
  for (const char c : {' ', '[', '{', '%', '|', '/', '1', ':', '=', '\'', ',', '\xE2', '\x1b'}) {
    EXPECT_FALSE(Read(std::string(1 << 20, c)));
  }
}

TEST(ProgressReaderTest, MeasuresTheRateByItsOwnClock) {
  ProgressReader reader;
  std::optional<v1::Progress> progress;
  const auto line = [](int step) {
    return " 10%|#         | " + std::to_string(step) + "/1000 [00:09<00:11,  99.00it/s]";
  };
  for (int step = 0; step <= 100; ++step) {
    progress = reader.Take(line(step), kBegin + milliseconds(100) * step);
  }
  ASSERT_TRUE(progress);
  EXPECT_NEAR(progress->rate(), 10, 0.1);
  EXPECT_NEAR(progress->eta(), 90, 1);
  for (int step = 101; step <= 200; ++step) {
    progress = reader.Take(line(step), kBegin + seconds(10) + milliseconds(500) * (step - 100));
  }
  EXPECT_NEAR(progress->rate(), 2, 0.1) << "over the last 20 steps, which are longer than 5 s";
  EXPECT_GT(progress->eta(), 350);
}

TEST(ProgressReaderTest, AnAbandonedBarIsReplaced) {
  ProgressReader reader;
  ASSERT_TRUE(reader.Take("a:  50%|█████     | 50/100 [00:00<00:00, 12.3it/s]", kBegin));
  EXPECT_FALSE(
      reader.Take("b:   1%|          | 1/100 [00:00<00:00, 12.3it/s]", kBegin + seconds(5)));
  const auto progress =
      reader.Take("b:   2%|          | 2/100 [00:00<00:00, 12.3it/s]", kBegin + seconds(100));
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 2u);
}

TEST(ProgressReaderTest, ABarMayBeNamedLater) {
  ProgressReader reader;
  ASSERT_TRUE(reader.Take("  0%|          | 0/100 [00:00<?, ?it/s]", kBegin));
  ASSERT_TRUE(reader.Take("loss 2.31:   1%|          | 1/100 [00:00<?, ?it/s]", kBegin));
  const auto progress = reader.Take("loss 1.2:   2%|          | 2/100 [00:00<?, ?it/s]", kBegin);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 2u);
  EXPECT_EQ(progress->total(), 100u);
}

TEST(ProgressReaderTest, TheLastLineOfAnEpochMayBeLate) {
  ProgressReader reader;
  const std::string end = "train: 100%|██████████| 10/10 [00:01<00:00, 10.0it/s]";
  ASSERT_TRUE(reader.Take("train:  10%|█         | 1/10 [00:00<00:01, 10.0it/s]", kBegin));
  ASSERT_TRUE(reader.Take(end, kBegin));
  ASSERT_TRUE(reader.Take("train:   0%|          | 0/10 [00:00<?, ?it/s]", kBegin));
  EXPECT_FALSE(reader.Take(end, kBegin)) << "as a line, once it has ended";
  const auto progress = reader.Take("train:  10%|█         | 1/10 [00:00<00:01, 10.0it/s]", kBegin);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 11u);
}

// Recordings of tqdm 4.64.

TEST(RecordedTest, OneBarForEachEpoch) {
  const auto moments = Replay("described");
  ExpectNoFall(moments);
  EXPECT_EQ(moments.back().progress.step(), 180u);
  EXPECT_FALSE(moments.back().progress.has_total());
  EXPECT_NEAR(moments.back().progress.rate(), 180 / moments.back().time, 3);
  EXPECT_THAT(MetricNames(moments.back().progress), ElementsAre("loss"));
}

TEST(RecordedTest, NestedBars) {
  const auto moments = Replay("nested");
  ExpectNoFall(moments);
  EXPECT_EQ(moments.back().progress.total(), 120u);
  EXPECT_GE(moments.back().progress.step(), 115u) << "its last version is not drawn";
  ExpectGoodEta(moments);
}

TEST(RecordedTest, NestedBarsWithoutNames) {
  const auto moments = Replay("plain_nested");
  ExpectNoFall(moments);
  EXPECT_EQ(moments.back().progress.step(), 75u);
  EXPECT_EQ(moments.back().progress.total(), 75u);
  ExpectGoodEta(moments);
}

TEST(RecordedTest, SlowSteps) {
  const auto moments = Replay("slow");
  EXPECT_EQ(moments.back().progress.step(), 4u);
  ExpectGoodEta(moments);
}

TEST(RecordedTest, NoTotal) {
  const auto moments = Replay("unknown");
  EXPECT_EQ(moments.back().progress.step(), 60u);
  EXPECT_FALSE(moments.back().progress.has_eta());
}

TEST(RecordedTest, Scaled) {
  const auto moments = Replay("scaled");
  EXPECT_EQ(moments.back().progress.step(), 5'000'000u);
  ExpectGoodEta(moments);
}

TEST(RecordedTest, EvaluationsWithinTraining) {
  const auto moments = Replay("trainer");
  ExpectNoFall(moments);
  EXPECT_EQ(moments.back().progress.step(), 60u);
  EXPECT_EQ(moments.back().progress.total(), 60u);
  for (const Moment& moment : moments) EXPECT_EQ(moment.progress.total(), 60u);
  ExpectGoodEta(moments);
  EXPECT_NEAR(MetricOf(moments.back().progress, "loss"), 0.0333, 0.001);
}

// Recordings of Lightning 2.6 and transformers 5.23.

TEST(RecordedTest, LightningsBarOfTqdm) {
  const auto moments = Replay("lightning_tqdm");
  ExpectNoFall(moments);
  EXPECT_EQ(moments.back().progress.step(), 60u);
  EXPECT_FALSE(moments.back().progress.has_total()) << "how many epochs there are is unknown";
  EXPECT_THAT(MetricNames(moments.back().progress), ElementsAre("train_loss", "val_loss"));
}

TEST(RecordedTest, LightningsBarOfTqdmWithTheNumberOfEpochsInTheArguments) {
  const auto moments = Replay("lightning_tqdm", 3);
  ExpectNoFall(moments);
  for (const Moment& moment : moments) EXPECT_EQ(moment.progress.total(), 60u);
  ExpectGoodEta(moments);
  EXPECT_FALSE(Replay("lightning_tqdm", 2).back().progress.has_total()) << "there are more";
}

TEST(RecordedTest, LightningsBarOfRich) {
  const auto moments = Replay("lightning_rich");
  ExpectNoFall(moments);
  EXPECT_EQ(moments.back().progress.step(), 60u);
  for (const Moment& moment : moments) EXPECT_EQ(moment.progress.total(), 60u);
  ExpectGoodEta(moments);
  MetricOf(moments.back().progress, "train_loss");
}

TEST(RecordedTest, TransformersTrainer) {
  const auto moments = Replay("transformers");
  ExpectNoFall(moments);
  EXPECT_EQ(moments.back().progress.step(), 60u);
  for (const Moment& moment : moments) EXPECT_EQ(moment.progress.total(), 60u);
  ExpectGoodEta(moments);
  EXPECT_NEAR(MetricOf(moments.back().progress, "loss"), 0.69, 0.1);
  EXPECT_NEAR(MetricOf(moments.back().progress, "eval_loss"), 0.69, 0.1);
}

TEST(ProgressReaderTest, AnOldVersionOfABarMayBeLate) {
  ProgressReader reader;
  const auto bar = [](int step) {
    return "  1%|          | " + std::to_string(step) + "/60 [00:00<00:18,  3.15it/s]";
  };
  ASSERT_TRUE(reader.Take(bar(1), kBegin));
  ASSERT_TRUE(reader.Take(bar(2), kBegin));
  EXPECT_FALSE(reader.Take(bar(0) + "[rank0]:[W1123 reducer.cpp:1545] Warning: none", kBegin))
      << "a line, as a message stands behind it";
  auto progress = reader.Take(bar(3), kBegin);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 3u);
  EXPECT_EQ(progress->total(), 60u);
  EXPECT_FALSE(reader.Take(bar(1) + " ", kBegin));
  EXPECT_FALSE(reader.Take(bar(0) + " ", kBegin));
  progress = reader.Take(bar(2) + " ", kBegin);
  ASSERT_TRUE(progress) << "it has begun again";
  EXPECT_EQ(progress->step(), 5u);
}

TEST(ProgressReaderTest, ATrainingOfTheSameEpochMayStartAgain) {
  ProgressReader reader;
  const auto take = [&](const std::string& counts) {
    const auto progress =
        reader.Take("Epoch 1:  50%|#    | " + counts + " [00:00<00:01,  9.6it/s]", kBegin);
    return progress ? progress->step() : 99;
  };
  EXPECT_EQ(take("9/10"), 9u);
  EXPECT_EQ(take("10/10"), 10u);
  EXPECT_EQ(take("0/10"), 99u) << "the next epoch's";
  EXPECT_EQ(take("1/10"), 1u);
}

// No test: --gtest_also_run_disabled_tests --gtest_filter=*Speed
TEST(ProgressReaderTest, DISABLED_Speed) {
  const std::map<std::string, std::string> lines = {
      {"plain log line",
       "2024-05-01 12:00:00,123 - trainer - INFO - rank 3 has loaded 1280 samples of shard 17 in "
       "0.35 s"},
      {"path with slashes",
       "2024-05-01 12:00:00,123 INFO writing /data/run/17/step_100/model.safetensors [3/10], iter "
       "ok 5"},
      {"dict", "{'loss': 1.2, 'grad_norm': 3.1, 'learning_rate': 5e-05, 'epoch': 0.12}"},
      {"Megatron",
       " iteration      200/    1000 | consumed samples:        51200 | elapsed time per iteration "
       "(ms): 512.3 | lm loss: 2.3E+00 |"},
      {"tqdm", "epoch 0:  87%|████████▋ | 52/60 [00:02<00:00, 19.87it/s, loss=1.205]"}};
  for (const auto& [name, line] : lines) {
    constexpr int kTimes = 300'000;
    ProgressReader reader;
    std::string changing = line;
    const std::clock_t begin = std::clock();
    for (int i = 0; i < kTimes; ++i) {
      if (name == "tqdm") changing[changing.size() - 2] = static_cast<char>('0' + i % 10);
      (void)reader.Take(changing, kBegin + milliseconds(i));
    }
    const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::printf("%-20s %3zu bytes  %7.0f ns\n", name.c_str(), line.size(), took / kTimes * 1e9);
  }
}

}  // namespace
}  // namespace autodist::progress
