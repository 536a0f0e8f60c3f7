// Formats of programs' steps, and similar text that is none: one real line of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "progress/progress_reader.h"

namespace autodist::progress {
namespace {

using std::chrono::seconds;

const Time kStart = Time{} + std::chrono::hours(1);

// Reads the lines, one per second.
std::optional<v1::Progress> ReadAll(const std::vector<std::string>& lines) {
  ProgressReader reader;
  std::optional<v1::Progress> last;
  Time now = kStart;
  for (const std::string& line : lines) {
    now += seconds(1);
    if (auto progress = reader.Take(line, now)) last = std::move(progress);
  }
  return last;
}

std::optional<double> Metric(const v1::Progress& progress, const std::string& name) {
  for (const v1::Metric& metric : progress.metrics()) {
    if (metric.name() == name) return metric.value();
  }
  return std::nullopt;
}

struct Example {
  std::vector<std::string> lines;
  uint64_t step;
  uint64_t total;  // 0: unknown
  const char* metric = "";
  double value = 0;
};

TEST(FormsTest, RecognizesStepsOfManyPrograms) {
  for (const Example& form : std::vector<Example>{
           {{"step 59/100000 loss 2.3"}, 59, 100'000, "loss", 2.3},
           {{"step 59 loss 2.3"}, 59, 0, "loss", 2.3},
           {{"Step: 10", "Step: 20"}, 20, 0},
           {{"iter 10:", "iter 11:"}, 11, 0},
           {{"[10/100]", "[11/100]"}, 11, 100},
           {{"[10/100] loss: 0.5"}, 10, 100, "loss", 0.5},
           {{"epoch 3 batch 10/50", "epoch 3 batch 20/50"}, 120, 0},
           {{"Epoch 1/5 | Batch 20/50 | Loss: 0.7"}, 20, 250, "Loss", 0.7},
           {{"Epoch 1 | iter 10 step 5 | loss train: 1.2, val: n/a | iter time: 300 ms"},
            10,
            0,
            "loss train",
            1.2},
           {{"2026-11-25 04:06:10.123 | INFO     | train:main:12 - step 10/100",
             "2026-11-25 04:06:11.123 | INFO     | train:main:12 - step 11/100"},
            11,
            100},
           {{"2026-11-25 04:06:10.123 | \x1b[1mINFO    \x1b[0m | \x1b[36mtrain\x1b[0m:"
             "\x1b[36mmain\x1b[0m:\x1b[36m12\x1b[0m - \x1b[1mstep 10/100 loss=2.5\x1b[0m"},
            10,
            100,
            "loss",
            2.5},
           {{"INFO:root:Step 300: loss = 1.5"}, 300, 0, "loss", 1.5},
           {{"Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.3"}, 640, 0, "Loss", 2.3},
           {{"[GPU0] Epoch 0 | Batchsize: 32 | Steps: 11",
             "[GPU0] Epoch 1 | Batchsize: 32 | Steps: 11",
             "[GPU0] Epoch 2 | Batchsize: 32 | Steps: 11"},
            22,
            0},
           {{"[11/25 10:00:00 d2.utils.events]:  eta: 0:05:00  iter: 19  total_loss: 2.3  "
             "loss_cls: 1.1  time: 0.3001  lr: 0.001  max_mem: 3000M"},
            19,
            0},
           {{"2026-11-25 10:00:00 | INFO | train_inner | epoch 001:     10 / 1000 loss=15.2, "
             "nll_loss=14.9, num_updates=10, lr=1.3e-06"},
            10,
            0,
            "loss",
            15.2},
           {{"[batch=10/100]:", "[batch=11/100]:"}, 11, 100},
           {{"I1125 10:00:00.000000 140 logging_writer.py:48] [10] loss=2.3, lr=0.1"},
            10,
            0,
            "loss",
            2.3},
           {{"completed step: 10, seconds: 1.2, TFLOP/s/device: 100.1, loss: 10.8"},
            10,
            0,
            "loss",
            10.8},
           {{"[titan] 2026-11-25 10:00:00 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss:  8.2"},
            1,
            0,
            "loss",
            8.2},
           {{"step:10/1390 train_loss:6.1 train_time:1200ms step_avg:120.00ms"},
            10,
            1390,
            "train_loss",
            6.1},
           {{"step    1/18865 | loss 11.009 (+nanz)| norm 15.2 (+nanz)| lr 8.57e-07"},
            1,
            18'865,
            "loss",
            11.009},
           {{"[step=10/1000,epoch=0] train/CrossEntropyLoss=11.2",
             "[step=11/1000,epoch=0] train/CrossEntropyLoss=11.1"},
            11,
            1000},
           {{"{\"step\": 10, \"loss\": 2.3}"}, 10, 0},
           {{"{'step': 10, 'loss': 2.3}"}, 10, 0},
           {{"Training epoch 0, iteration 9/99 | lr: 2.7e-06 | global_step: 9 | "
             "reduced_train_loss: 11.03"},
            9,
            99,
            "reduced_train_loss",
            11.03},
           {{"Epoch 0: :   3%|▎         | 3/100 [00:10<05:11, v_num=, reduced_train_loss=11.0]"},
            3,
            0,
            "reduced_train_loss",
            11.0},
           {{"Epoch 0:  10%|█         | 3/30 [00:01<00:09, 2.85it/s, v_num=0]"}, 3, 0},
           {{"[10]\ttrain-rmse:0.23\teval-rmse:0.31"}, 10, 0},
           {{"|    total_timesteps      | 2048     |"}, 2048, 0},
           {{"steps: 10 loss: 0.51", "steps: 20 loss: 0.41"}, 20, 0, "loss", 0.41},
           {{"[Rank 0] step=10, skipped=0, lr=0.001, mom=0.9"}, 10, 0},
           {{"      1/100      2.5G      1.234      3.4      1.2         16        640:  50%|█████ "
             "    | 50/100 [00:10<00:10,  5.00it/s]"},
            50,
            10'000},
           {{"      2/100      2.5G      1.234      3.4      1.2         16        640: 50% "
             "━━━━━━────── 50/100 5.0it/s 10.2s<10.1s"},
            150,
            10'000},
           {{"Training ━━━━━━━━━━╸━━━━━━━━━━  25% 0:00:12"}, 25, 100},
           {{"\x1b[32mEpoch 1\x1b[0m ━━━━━━━━━━╸━━━━━━━━━━  10/40 0:00:12"}, 10, 0},
           {{"step 10/938 [..............] - loss: 2.3 - acc: 0.1 - 5ms/step"},
            10,
            938,
            "acc",
            0.1},
       }) {
    const auto progress = ReadAll(form.lines);
    ASSERT_TRUE(progress) << form.lines[0];
    EXPECT_EQ(progress->step(), form.step) << form.lines[0];
    EXPECT_EQ(progress->total(), form.total) << form.lines[0];
    if (*form.metric != '\0') {
      EXPECT_EQ(Metric(*progress, form.metric), form.value) << form.lines[0] << "\n"
                                                            << progress->DebugString();
    }
  }
}

// Two of each, because one may confirm the other.
TEST(FormsTest, IgnoresSimilarText) {
  for (const std::vector<std::string>& lines : std::vector<std::vector<std::string>>{
           {"2026-11-25 04:06:10 INFO ready", "2026-11-26 04:06:10 INFO ready"},
           {"11/25 04:06 ready", "11/26 04:06 ready"},
           {"GPU 1/8", "GPU 2/8"},
           {"shard 3/4", "shard 4/4"},
           {"rank 3/8 is up", "rank 4/8 is up"},
           {"[1/3] Building CXX object a.o", "[2/3] Building CXX object b.o"},
           {"[1/3] Building", "[2/3] Linking"},
           {"[1/3] c++ -MMD main.o", "[2/3] nvcc cuda.o", "[3/3] c++ main.o -shared -o ext.so"},
           {"[1/9] foo.jpg", "[2/9] bar.jpg"},
           {"[1/4] Resolving packages...", "[2/4] Fetching packages..."},
           {"Step 1/5 : FROM ubuntu", "Step 2/5 : RUN apt-get update"},
           {"step 1: load", "step 2: tokenize"},
           {"Step 1: Loading a", "Step 2: Loading b"},
           {"Saving checkpoint at step 100", "Saving checkpoint at step 200"},
           {"eval step 10/50", "eval step 11/50"},
           {"Validation: step 10/50, loss 2.3", "Validation: step 11/50, loss 2.2"},
           {"validation loss at iteration 1000 | lm loss value: 2.3",
            "validation loss at iteration 2000 | lm loss value: 2.2"},
           {"Epoch(val) [1][ 50/100]    eta: 0:00:10", "Epoch(val) [1][ 60/100]    eta: 0:00:10"},
           {"batch size: 32, lr 0.1", "batch size: 64, lr 0.1"},
           {"batch: 32 loss: 0.5", "batch: 32 loss: 0.4"},
           {"epoch 1: batch 32, lr 0.1", "epoch 2: batch 32, lr 0.1"},
           {"epoch 1 saved, Steps: 11", "epoch 1 checked, Steps: 11"},
           {"Total optimization steps = 500"},
           {"Training steps: 100, loss scale: 1.0"},
           {"max_steps: 10000"},
           {"step 10.5 s", "step 11.5 s"},
           {"iter 10ms", "iter 11ms"},
           {"step 10:30", "step 10:31"},
           {"timestep 12, footstep 3", "timestep 13, footstep 4"},
           {"Downloading ━━━━━━━━━━╸━━━━━━━━━━  25% 0:00:12", "Downloading ━━━━━━━━ 26% 0:00:12"},
           {"model.bin ━━━━━━━━━━╸━━━━━━━━ 10.2/50.3 MB 2.1 MB/s 0:00:12"},
           {"Collecting ━━━━━━━━ 7/50 MB", "Collecting ━━━━━━━━ 8/50 MB"},
           {"1/60 of the disk is full", "2/60 of the disk is full"},
           {"tests/test_a.py [10/100]x", "tests/test_a.py [11/100]x"},
           {"Class     Images  Instances      Box(P          R: 100%|██████████| 4/4 "
            "[00:00<00:00,  5.00it/s]"},
           {"10:00:00 steps/s 12", "10:00:01 steps/s 13"},
       }) {
    const auto progress = ReadAll(lines);
    EXPECT_FALSE(progress && progress->has_step()) << lines[0] << "\n" << progress->DebugString();
  }
}

TEST(FormsTest, CountsKerasOverItsEpochs) {
  ProgressReader reader;
  const auto take = [&](const std::string& line) { return reader.Take(line, kStart); };
  EXPECT_FALSE(take("Epoch 1/2"));
  const auto first = take(
      "\x1b[1m25/60\x1b[0m \x1b[32m━━━━━━━━─────\x1b[0m\x1b[37m\x1b[0m \x1b[1m3s\x1b[0m 99ms/step "
      "- "
      "accuracy: 0.51 - loss: 2.3750");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->step(), 25u);
  EXPECT_EQ(first->total(), 120u);
  EXPECT_EQ(first->what(), "epoch 1/2");
  EXPECT_EQ(Metric(*first, "loss"), 2.375);
  EXPECT_EQ(Metric(*first, "accuracy"), 0.51);
  ASSERT_TRUE(take("60/60 ━━━━━━━━━━━━━ 6s 99ms/step - accuracy: 0.5 - loss: 2"));
  EXPECT_FALSE(take("5/10 ━━━━━━─────── 0s 9ms/step - loss: 2")) << "an evaluation";
  EXPECT_TRUE(reader.WasOtherWork());
  take("60/60 ━━━━━━━━━━━━━ 6s 99ms/step - accuracy: 0.5 - loss: 2 - val_loss: 1.5");
  EXPECT_FALSE(take("Epoch 2/2"));
  const auto second = take("30/60 [=====>......] - ETA: 3s - loss: 1.2 - accuracy: 0.9");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->step(), 90u);
  EXPECT_EQ(second->total(), 120u);
}

TEST(FormsTest, SupportsKerasWithALineForEachEpoch) {
  const auto progress =
      ReadAll({"Epoch 1/3", "60/60 - 6s - 99ms/step - accuracy: 0.5 - loss: 1.5", "Epoch 2/3",
               "60/60 - 6s - 99ms/step - accuracy: 0.6 - loss: 1.2"});
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 120u);
  EXPECT_EQ(progress->total(), 180u);
  EXPECT_EQ(Metric(*progress, "loss"), 1.2);
}

TEST(FormsTest, ACountMayContinueOverTheEpochs) {
  const auto progress = ReadAll({"epoch 1 step 100 loss 2.0", "epoch 1 step 200 loss 1.9",
                                 "epoch 2 step 300 loss 1.8", "epoch 3 step 400 loss 1.7"});
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 400u);
}

TEST(FormsTest, ABarOutranksLinesWithSteps) {
  ProgressReader reader;
  ASSERT_TRUE(reader.Take("step 3 loss 2.5", kStart));
  ASSERT_TRUE(reader.Take(" 50%|█████     | 5/10 [00:00<00:00, 12.3it/s]", kStart));
  const auto metrics = reader.Take("step 4 loss 2.25", kStart);
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->step(), 5u);
  EXPECT_EQ(Metric(*metrics, "loss"), 2.25);
}

TEST(FormsTest, AnEvaluationIsWorkWithoutSteps) {
  ProgressReader reader;
  reader.Take("step 3 loss 2.5", kStart);
  EXPECT_FALSE(reader.WasOtherWork());
  for (const char* line : {"Evaluating:  50%|█████     | 5/10 [00:00<00:00, 12.3it/s]",
                           "eval step 10/50", "Val Epoch: [1][ 50/100]"}) {
    reader.Take(line, kStart);
    EXPECT_TRUE(reader.WasOtherWork()) << line;
  }
  reader.Take("hello", kStart);
  EXPECT_FALSE(reader.WasOtherWork());
}

TEST(FormsTest, EscapeSequencesAreRemoved) {
  const auto progress = ReadAll({"\x1b]0;title\x07\x1b[1mstep 59/100\x1b[0m \x1b(Bloss 2.3\x1b[K"});
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step(), 59u);
  EXPECT_EQ(Metric(*progress, "loss"), 2.3);
}

}  // namespace
}  // namespace autodist::progress
