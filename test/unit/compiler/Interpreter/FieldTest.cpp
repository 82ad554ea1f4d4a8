//===- FieldTest.cpp - numbers modulo a prime -----------------------------===//
#include "compiler/Interpreter/Field.h"

#include "gtest/gtest.h"
#include <random>

using namespace zc::interpreter;

namespace {

int64_t compute(Opcode opcode, int64_t a, int64_t b = 0, int64_t c = 0) {
  Instruction instruction;
  instruction.opcode = opcode;
  return field::compute(instruction, a, b, c);
}

TEST(Field, FollowsTheLawsOfNumbers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const int64_t a = field::ofBits(random()), b = field::ofBits(random()),
                  c = field::ofBits(random());
    EXPECT_EQ(field::add(a, b), field::add(b, a));
    EXPECT_EQ(field::add(field::add(a, b), c), field::add(a, field::add(b, c)));
    EXPECT_EQ(field::multiply(a, field::add(b, c)),
              field::add(field::multiply(a, b), field::multiply(a, c)));
    EXPECT_EQ(compute(Opcode::SubF, field::add(a, b), b), a);
    EXPECT_EQ(compute(Opcode::DivF, field::multiply(a, b), b), a);
    EXPECT_EQ(compute(Opcode::Fma, a, b, c),
              field::add(field::multiply(a, b), c));
    EXPECT_EQ(compute(Opcode::NegF, compute(Opcode::NegF, a)), a);
  }
}

TEST(Field, HasFloatsAsTheNumbersTheyAre) {
  EXPECT_EQ(field::ofDouble(0), 0);
  EXPECT_EQ(field::ofDouble(3), 3);
  EXPECT_EQ(field::ofDouble(-7), -7);
  EXPECT_EQ(field::multiply(field::ofDouble(0.5), 2), 1);
  EXPECT_EQ(field::multiply(field::ofDouble(-0.375), 8), -3);
  // 2^-1074, and 2^1000, which is some power of two below 2^61.
  EXPECT_EQ(
      field::multiply(field::ofDouble(0x1p-1074), field::ofDouble(0x1p1000)),
      field::ofDouble(0x1p-74));
  EXPECT_EQ(field::ofDouble(0x1p61), 1);
}

TEST(Field, HasInfinitiesForMasksAndMaxima) {
  const int64_t least = field::ofDouble(-INFINITY), most = -least;
  EXPECT_EQ(field::add(least, 5), least);
  EXPECT_EQ(field::add(least, most), field::kNotANumber);
  EXPECT_EQ(compute(Opcode::MaximumF, least, -field::kPrime / 2),
            -field::kPrime / 2);
  EXPECT_EQ(compute(Opcode::MinimumF, most, 3), 3);
  EXPECT_EQ(compute(Opcode::Exp, least), 0);
  EXPECT_EQ(compute(Opcode::DivF, 4, most), 0);
  EXPECT_EQ(compute(Opcode::MulF, 0, most), field::kNotANumber);
  EXPECT_EQ(compute(Opcode::SubF, 1, field::kNotANumber), field::kNotANumber);
}

// Half of all numbers are negative: what looks at a sign is not linear.
TEST(Field, HasSigns) {
  std::mt19937_64 random(2);
  int negative = 0;
  constexpr int kDrawn = 1000;
  for (int i = 0; i < kDrawn; ++i) {
    const int64_t a = field::ofBits(random());
    negative += field::compare(/*olt*/ 4, a, 0);
    EXPECT_EQ(compute(Opcode::AbsF, a), std::abs(a));
  }
  EXPECT_GT(negative, kDrawn * 2 / 5);
  EXPECT_LT(negative, kDrawn * 3 / 5);
}

// Other functions are unknown, but functions.
TEST(Field, KnowsNothingOfOtherFunctions) {
  EXPECT_EQ(compute(Opcode::Tanh, 5), compute(Opcode::Tanh, 5));
  EXPECT_NE(compute(Opcode::Tanh, 5), compute(Opcode::Tanh, 6));
  EXPECT_NE(compute(Opcode::Tanh, 5), compute(Opcode::Erf, 5));
  EXPECT_NE(compute(Opcode::PowF, 5, 2), compute(Opcode::PowF, 2, 5));
  EXPECT_NE(compute(Opcode::Exp, 8),
            field::multiply(compute(Opcode::Exp, 5), compute(Opcode::Exp, 3)));
}

TEST(Field, SmallIntegersComeBack) {
  for (int64_t value : {0, 1, -1, 41, -1000})
    EXPECT_EQ(field::toInteger(value), value);
}

} // namespace
