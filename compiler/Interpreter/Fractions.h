//===- Fractions.h - constants that stand for fractions ---------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_FRACTIONS_H
#define ZC_COMPILER_INTERPRETER_FRACTIONS_H

namespace zc::interpreter {

/// The fraction of small numbers to which `number` is the nearest float32;
/// `number` itself, where there is none. Passes write 1 / 36 as a float32 where
/// another program divides by 36, which are to be compared without rounding.
double fractionOf(double number);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_FRACTIONS_H
