#include "runtime/Base/Status.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <memory>

namespace zc {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0)
    return makeError(StatusCode::InvalidArgument, value, " is odd");
  return value / 2;
}

Result<int> quarter(int value) {
  ZC_ASSIGN_OR_RETURN(int once, half(value));
  ZC_ASSIGN_OR_RETURN(int twice, half(once));
  return twice;
}

TEST(Status, CarriesCodeAndMessage) {
  EXPECT_TRUE(Status().ok());
  Status status = makeError(StatusCode::Corrupt, "entry ", 3);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::Corrupt);
  EXPECT_EQ(status.withContext("file").message(), "file: entry 3");
  EXPECT_TRUE(Status().withContext("file").ok());
}

TEST(Status, ResultsPassValuesAndFailuresOn) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
}

TEST(Status, ResultsHoldWhatCanOnlyMove) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  std::unique_ptr<int> taken = std::move(*result);
  EXPECT_EQ(*taken, 5);
}

TEST(Status, SystemErrorsHaveTheirCodes) {
  EXPECT_EQ(errnoError("x", ENOENT).code(), StatusCode::NotFound);
  EXPECT_EQ(errnoError("x", ENOSPC).code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(errnoError("x", EACCES).message(), "x: Permission denied");
}

TEST(Status, EveryCodeHasAName) {
  for (int code = 0; code <= int(StatusCode::Internal); ++code)
    EXPECT_STRNE(statusCodeName(StatusCode(code)), "unknown");
}

} // namespace
} // namespace zc
