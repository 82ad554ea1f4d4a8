// Rates and limits in the text of a profile.
#include "runtime/Driver/Profile.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

/// The profile of one convolution of 300 MFLOP that takes a millisecond, on a
/// machine of 100 GFLOP/s.
std::string profileOf(const TakenWay &way) {
  plan::Program program;
  program.set_name("step");
  plan::Instruction &instruction = *program.add_instructions();
  instruction.mutable_library()->set_op("conv");
  instruction.set_label("train.conv 0");
  instruction.set_flops(3e8);
  instruction.set_bytes(1e6);
  Profile profile;
  profile.addLimits({100e9, 10e9});
  profile.setWays({{&instruction, way}});
  const InstructionObserver::Clock::time_point begin{};
  profile.ran(program, instruction, begin,
              begin + std::chrono::milliseconds(1));
  return profile.print();
}

TEST(Profile, WhatWasComputedFasterIsTheLimit) {
  const std::string text = profileOf({"library by rule"});
  EXPECT_NE(text.find("limits: compute 300 GFLOP/s"), text.npos) << text;
  EXPECT_NE(text.find("100% compute"), text.npos) << text;
}

/// The plan counts the FLOPs of direct sums.
TEST(Profile, FewerProductsShowNoLimit) {
  const std::string text = profileOf({"winograd by rule", true});
  EXPECT_NE(text.find("limits: compute 100 GFLOP/s"), text.npos) << text;
  EXPECT_NE(text.find("300.0"), text.npos) << text;
  EXPECT_NE(text.find("fewer FLOPs  convolution"), text.npos) << text;
}

} // namespace
} // namespace zc
