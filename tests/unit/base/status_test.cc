#include "autodist/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "base/proof_of_end.h"

namespace autodist {
namespace {

TEST(StatusTest, AnnotationKeepsCodeAndRemedy) {
  const Status failed = WithRemedy(ErrnoError(ENOENT, "/x"), "make it");
  const Status annotated = Annotate(failed, "key file");
  EXPECT_EQ(annotated.code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(annotated), "key file: /x: No such file or directory");
  EXPECT_EQ(Remedy(annotated), "make it");
  EXPECT_EQ(Remedy(WithRemedy(annotated, "")), "make it");
  EXPECT_TRUE(Annotate(OkStatus(), "anything").ok());
  EXPECT_EQ(Remedy(OkStatus()), "");
}

Result<int> Half(int number) {
  if (number % 2 != 0) return Error(StatusCode::kInvalidArgument, "odd");
  return number / 2;
}

Result<int> Quarter(int number) {
  AD_ASSIGN_OR_RETURN(const int half, Half(number));
  AD_RETURN_IF_ERROR(Half(half).status());
  return half / 2;
}

TEST(StatusTest, MacrosReturnTheFirstFailure) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Message(Quarter(6).status()), "odd");
  EXPECT_FALSE(Quarter(3).ok());
}

TEST(StatusTest, AProofOfEndIsPreserved) {
  const Status aborted = Error(StatusCode::kAborted, "it is gone");
  EXPECT_FALSE(ProofOfEnd::In(aborted));
  const Status proof = ProofOfEnd::ByNode(aborted);
  EXPECT_TRUE(ProofOfEnd::In(proof));
  EXPECT_NE(proof, aborted);
  const Status passed_on = Annotate(WithRemedy(proof, "start it"), "node3");
  EXPECT_TRUE(ProofOfEnd::In(passed_on));
  EXPECT_EQ(Message(passed_on), "node3: it is gone");
  EXPECT_EQ(Remedy(passed_on), "start it");
  EXPECT_FALSE(ProofOfEnd::In(ProofOfEnd::ByNode(OkStatus())));
}

TEST(StatusTest, AResultIsAValueOrAFailure) {
  Result<std::unique_ptr<const int>> made = std::make_unique<int>(7);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made.status().ok());
  const std::unique_ptr<const int> seven = *std::move(made);
  EXPECT_EQ(*seven, 7);

  const Result<int> failed = WithRemedy(Error(StatusCode::kNotFound, "gone"), "look elsewhere");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Remedy(failed.status()), "look elsewhere");
  EXPECT_EQ(failed.value_or(3), 3);
}

TEST(StatusTest, AnEmptyResultIsSuccessWithoutAValue) {
  EXPECT_EQ(Result<int>(OkStatus()).status().code(), StatusCode::kInternal);
  EXPECT_FALSE(Result<int>().status().ok());
}

}  // namespace
}  // namespace autodist
