//===- Machine.h - what interpreted programs run on -------------*- C++ -*-===//
//
// A register machine. Every SSA scalar has a slot, every memref a view; both
// are numbered when a program is compiled. Straight code is a list of
// instructions over slots; all that has structure (loops, linalg ops, views) is
// a node.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_INTERPRETER_MACHINE_H
#define ZC_COMPILER_INTERPRETER_MACHINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace zc::interpreter {

/// How results are rounded: Double leaves every float a double, Single rounds
/// every one to 32 bits. Both round to 16 bits where the program does; Wide is
/// Double without that, in which constants of 32 bits that are nearest to
/// fractions of small numbers (1 / 36) are these. Exact: floats are numbers
/// modulo a prime, in the integers of slots (Field.h), and nothing is rounded.
enum class Precision { Double, Single, Wide, Exact };

/// A scalar. Integers are sign-extended from their type's width, but those of
/// an unsigned type and i1 are the numbers they are.
union Slot {
  double f;
  int64_t i;
};

/// A memref: element (i, j, ...) is data[i * strides[0] + j * strides[1] ...].
/// `base` is where the buffer begins that it is part of.
struct View {
  Slot *base = nullptr;
  Slot *data = nullptr;
  llvm::SmallVector<int64_t, 6> sizes, strides;
};

struct Frame {
  std::vector<Slot> slots;
  std::vector<View> views;
  /// Whether the program asked for an element beyond a view; it got another.
  bool leftView = false;
};

/// Scalar operations, named as in the arith and math dialects; the float ones
/// up to MoveF take floats and give a float (but CmpF); those from MaximumF to
/// CmpF compare two.
enum class Opcode : uint8_t {
  // clang-format off
  AddF, SubF, MulF, DivF, RemF, NegF, MaximumF, MinimumF, MaxNumF, MinNumF,
  CmpF, AbsF, Exp, Exp2, ExpM1, Log, Log2, Log1P, Sqrt, Rsqrt, Tanh, Erf, Sin,
  Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, NormalTail,
  PowF, Floor, Ceil, Round, RoundEven, Fma, ToF16, ToBF16, ToE4M3,
  ToE5M2, MoveF, FPToSI, FPToUI, SIToFP, UIToFP,
  AddI, SubI, MulI, DivSI, DivUI, RemSI, RemUI, FloorDivSI, CeilDivSI, Mod,
  AndI, OrI, XOrI, ShLI, ShRSI, ShRUI, MaxSI, MinSI, MaxUI, MinUI, AbsI, PowI,
  CmpI, Signed, Unsigned, Select,
  Node
  // clang-format on
};

class Node;

struct Instruction {
  Opcode opcode;
  bool rounds = false;    // the result, to 32 bits
  bool isExact = false;   // Precision::Exact
  uint8_t width = 64;     // of an integer result
  uint8_t fromWidth = 64; // of integer operands
  uint8_t predicate = 0;  // CmpI: arith's; CmpF: 1 eq, 2 gt, 4 lt, 8 NaN, or'ed
  uint32_t result = 0;
  uint32_t operands[3] = {0, 0, 0};
  const Node *node = nullptr;
};

using Code = std::vector<Instruction>;

/// A piece of a program that is more than a scalar operation.
class Node {
public:
  virtual ~Node() = default;
  virtual void run(Frame &frame) const = 0;
};

void execute(const Code &code, Frame &frame);

/// Does one operation, which is no node, for `count` elements.
void executeRow(const Instruction &in, const Slot *a, const Slot *b,
                const Slot *c, Slot *result, int64_t count);

/// A compiled piece of IR. Its first views are its arguments.
struct Program {
  Frame frame; // constants are already in their slots
  Code code;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::vector<Slot>> storage; // of the buffers it allocates
  /// Whether an instruction compares floats, or takes the larger or smaller.
  bool comparesFloats = false;
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_MACHINE_H
