//===- ScalarOps.cpp - arith and math ops as instructions -----------------===//
#include "compiler/Interpreter/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace zc::interpreter {

/// Ops whose instruction follows from their name alone.
static const llvm::StringMap<Opcode> &opcodes() {
  static const llvm::StringMap<Opcode> table = {
      {"arith.addf", Opcode::AddF},
      {"arith.subf", Opcode::SubF},
      {"arith.mulf", Opcode::MulF},
      {"arith.divf", Opcode::DivF},
      {"arith.remf", Opcode::RemF},
      {"arith.negf", Opcode::NegF},
      {"arith.maximumf", Opcode::MaximumF},
      {"arith.minimumf", Opcode::MinimumF},
      {"arith.maxnumf", Opcode::MaxNumF},
      {"arith.minnumf", Opcode::MinNumF},
      {"arith.extf", Opcode::MoveF},
      {"arith.truncf", Opcode::MoveF},
      {"arith.fptosi", Opcode::FPToSI},
      {"arith.fptoui", Opcode::FPToUI},
      {"arith.sitofp", Opcode::SIToFP},
      {"arith.uitofp", Opcode::UIToFP},
      {"arith.addi", Opcode::AddI},
      {"arith.subi", Opcode::SubI},
      {"arith.muli", Opcode::MulI},
      {"arith.divsi", Opcode::DivSI},
      {"arith.divui", Opcode::DivUI},
      {"arith.remsi", Opcode::RemSI},
      {"arith.remui", Opcode::RemUI},
      {"arith.floordivsi", Opcode::FloorDivSI},
      {"arith.ceildivsi", Opcode::CeilDivSI},
      {"arith.andi", Opcode::AndI},
      {"arith.ori", Opcode::OrI},
      {"arith.xori", Opcode::XOrI},
      {"arith.shli", Opcode::ShLI},
      {"arith.shrsi", Opcode::ShRSI},
      {"arith.shrui", Opcode::ShRUI},
      {"arith.maxsi", Opcode::MaxSI},
      {"arith.minsi", Opcode::MinSI},
      {"arith.maxui", Opcode::MaxUI},
      {"arith.minui", Opcode::MinUI},
      {"arith.extsi", Opcode::Signed},
      {"arith.trunci", Opcode::Signed},
      {"arith.index_cast", Opcode::Signed},
      {"arith.extui", Opcode::Unsigned},
      {"arith.index_castui", Opcode::Unsigned},
      {"arith.select", Opcode::Select},
      {"math.absf", Opcode::AbsF},
      {"math.absi", Opcode::AbsI},
      {"math.exp", Opcode::Exp},
      {"math.exp2", Opcode::Exp2},
      {"math.expm1", Opcode::ExpM1},
      {"math.log", Opcode::Log},
      {"math.log2", Opcode::Log2},
      {"math.log1p", Opcode::Log1P},
      {"math.sqrt", Opcode::Sqrt},
      {"math.rsqrt", Opcode::Rsqrt},
      {"math.tanh", Opcode::Tanh},
      {"math.erf", Opcode::Erf},
      {"math.sin", Opcode::Sin},
      {"math.cos", Opcode::Cos},
      {"math.atan", Opcode::Atan},
      {"math.tan", Opcode::Tan},
      {"math.asin", Opcode::Asin},
      {"math.acos", Opcode::Acos},
      {"math.sinh", Opcode::Sinh},
      {"math.cosh", Opcode::Cosh},
      {"math.asinh", Opcode::Asinh},
      {"math.acosh", Opcode::Acosh},
      {"math.atanh", Opcode::Atanh},
      {"train.normal_tail", Opcode::NormalTail},
      {"math.powf", Opcode::PowF},
      {"math.ipowi", Opcode::PowI},
      {"math.floor", Opcode::Floor},
      {"math.ceil", Opcode::Ceil},
      {"math.round", Opcode::Round},
      {"math.roundeven", Opcode::RoundEven},
      {"math.fma", Opcode::Fma}};
  return table;
}

/// arith numbers its predicates otherwise than by what they hold for.
static uint8_t floatPredicate(arith::CmpFPredicate predicate) {
  auto number = static_cast<uint8_t>(predicate);
  if (number < 8 || predicate == arith::CmpFPredicate::AlwaysTrue)
    return number;
  return predicate == arith::CmpFPredicate::UNO ? 8 : number + 1;
}

static uint8_t widthOf(Type type) {
  return type.isInteger() ? type.getIntOrFloatBitWidth() : 64;
}

std::optional<Instruction> scalarInstruction(Operation *op,
                                             Precision precision) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return std::nullopt;
  Instruction instruction;
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    instruction.opcode = Opcode::CmpF;
    instruction.predicate = floatPredicate(compare.getPredicate());
  } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    instruction.opcode = Opcode::CmpI;
    instruction.predicate = static_cast<uint8_t>(compare.getPredicate());
  } else {
    auto found = opcodes().find(op->getName().getStringRef());
    if (found == opcodes().end())
      return std::nullopt;
    instruction.opcode = found->second;
  }
  Type result = op->getResult(0).getType();
  const bool rounds = precision != Precision::Wide;
  if (rounds && isa<arith::TruncFOp>(op) && result.isF16())
    instruction.opcode = Opcode::ToF16;
  if (rounds && isa<arith::TruncFOp>(op) && result.isBF16())
    instruction.opcode = Opcode::ToBF16;
  if (rounds && isa<arith::TruncFOp>(op) && isa<Float8E4M3FNType>(result))
    instruction.opcode = Opcode::ToE4M3;
  if (rounds && isa<arith::TruncFOp>(op) && isa<Float8E5M2Type>(result))
    instruction.opcode = Opcode::ToE5M2;
  if (!result.isIntOrIndexOrFloat())
    return std::nullopt;
  instruction.rounds = precision == Precision::Single && isa<FloatType>(result);
  instruction.isExact = precision == Precision::Exact;
  instruction.width = widthOf(result);
  instruction.fromWidth = widthOf(op->getOperand(0).getType());
  return instruction;
}

} // namespace zc::interpreter
