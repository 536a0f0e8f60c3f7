#include "work.h"

#include <gtest/gtest.h>

#include "autodist/v1/burn.pb.h"
#include "cpu_works.h"
#include "json/proto_json.h"

namespace autodist::burn {
namespace {

using std::chrono::milliseconds;

// Does `amount` in a millisecond, of which `wrong` numbers are wrong.
Work Pretend(Kind kind, double amount, int& runs, uint64_t wrong = 0) {
  return {kind, false, [=, &runs]() -> Result<Piece> {
            ++runs;
            return Piece{amount, milliseconds(1), wrong};
          }};
}

TEST(BurnTest, EachWorkIsDoneTwiceAtLeastAndMeasuredFromTheSecondTimeOn) {
  int products = 0;
  int copies = 0;
  const auto measured = Burn(
      {Pretend(Kind::kMatrix, 5, products, 2), Pretend(Kind::kMemory, 7, copies)}, milliseconds(0));
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(products, 2);
  EXPECT_EQ(copies, 2);
  ASSERT_EQ(measured->rates.size(), 2u);
  EXPECT_DOUBLE_EQ(measured->rates[0].rate, 5000);
  EXPECT_DOUBLE_EQ(measured->rates[1].rate, 7000);
  EXPECT_EQ(measured->wrong, 4u);  // also in the first piece
}

TEST(BurnTest, PausesCount) {
  int run = 0;
  milliseconds all{0};
  const Work work{Kind::kMatrix, false, [&]() -> Result<Piece> {
                    const milliseconds time(++run % 2 == 0 ? 1 : 9);
                    if (run > 1) all += time;
                    return Piece{1, time, 0};
                  }};
  const auto measured = Burn({work}, milliseconds(5));
  ASSERT_TRUE(measured.ok());
  EXPECT_NEAR(measured->rates[0].rate, (run - 1) * 1e3 / static_cast<double>(all.count()), 1e-3);
}

TEST(BurnTest, OnADisturbedDeviceTheFastestPiecesCount) {
  int run = 0;
  const Work work{Kind::kMatrix, true, [&]() -> Result<Piece> {
                    return Piece{1, milliseconds(++run % 2 == 0 ? 1 : 9), 0};
                  }};
  const auto measured = Burn({work}, milliseconds(5));
  ASSERT_TRUE(measured.ok());
  EXPECT_DOUBLE_EQ(measured->rates[0].rate, 1000);
}

TEST(BurnTest, AFailureEndsIt) {
  int copies = 0;
  const Work failing{Kind::kMatrix, false, []() -> Result<Piece> {
                       return Error(StatusCode::kUnavailable, "no memory");
                     }};
  const auto measured = Burn({failing, Pretend(Kind::kMemory, 7, copies)}, std::chrono::minutes(1));
  EXPECT_EQ(Message(measured.status()), "no memory");
  EXPECT_EQ(copies, 0);
}

TEST(BurnTest, TheResultIsAMessage) {
  v1::BurnResult message;
  const Measured measured{{{Kind::kMatrix, 6.49e14}, {Kind::kFromDevice, 5e10}}, 3};
  const Status parsed = json::FromJson(AsJson("a \"device\"", measured), message);
  ASSERT_TRUE(parsed.ok()) << parsed;
  EXPECT_EQ(message.device(), "a \"device\"");
  EXPECT_EQ(message.wrong(), 3u);
  ASSERT_EQ(message.rates_size(), 2);
  EXPECT_EQ(message.rates(0).work(), v1::BURN_WORK_MATRIX);
  EXPECT_DOUBLE_EQ(message.rates(0).rate(), 6.49e14);
  EXPECT_EQ(message.rates(1).work(), v1::BURN_WORK_FROM_DEVICE);
  EXPECT_DOUBLE_EQ(message.rates(1).rate(), 5e10);
}

TEST(BurnTest, TheCpuComputesRightResults) {
  const auto measured = Burn(CpuWorks(), milliseconds(50));
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->wrong, 0u);
  for (const Rate& rate : measured->rates) EXPECT_GT(rate.rate, 1e6);
  EXPECT_FALSE(CpuName().empty());
}

}  // namespace
}  // namespace autodist::burn
