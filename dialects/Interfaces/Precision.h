//===- Precision.h - what an op wants its numbers stored in -----*- C++ -*-===//
#ifndef ZC_DIALECTS_INTERFACES_PRECISION_H
#define ZC_DIALECTS_INTERFACES_PRECISION_H

namespace zc {

/// How mixed precision treats an op's float32 operands.
enum class Precision {
  /// 16 bits: the op's time is that of its products, which are added up in
  /// float32.
  Narrow,
  /// 16 bits where all operands that are not constants have them, else float32.
  Same,
  /// float32: the result needs the range or the digits.
  Wide,
};

} // namespace zc

#endif // ZC_DIALECTS_INTERFACES_PRECISION_H
