//===- Blocks.h - parts of tensors, and tensors of parts --------*- C++ -*-===//
#ifndef ZC_TEST_UNIT_DIALECTS_TRAIN_BLOCKS_H
#define ZC_TEST_UNIT_DIALECTS_TRAIN_BLOCKS_H

#include "compiler/Interpreter/Tensor.h"

namespace zc::test {

/// Elements begin, ..., end - 1 along a dim.
interpreter::Tensor slice(const interpreter::Tensor &tensor, size_t dim,
                          int64_t begin, int64_t end);

/// Tensors of one kind, one after the other along a dim.
interpreter::Tensor concatenate(const interpreter::Tensor &a,
                                const interpreter::Tensor &b, size_t dim);

/// Element by element, of tensors of one kind and shape.
template <typename Combine>
interpreter::Tensor zipWith(const interpreter::Tensor &a,
                            const interpreter::Tensor &b, Combine combine) {
  interpreter::Tensor result = a;
  for (size_t i = 0; i < a.floats.size(); ++i)
    result.floats[i] = combine(a.floats[i], b.floats[i]);
  for (size_t i = 0; i < a.integers.size(); ++i)
    result.integers[i] = combine(a.integers[i], b.integers[i]);
  return result;
}
interpreter::Tensor add(const interpreter::Tensor &a,
                        const interpreter::Tensor &b);

/// GoogleTest expectations that two tensors are equal; floats to 1e-12.
void expectClose(const interpreter::Tensor &actual,
                 const interpreter::Tensor &expected);

} // namespace zc::test

#endif // ZC_TEST_UNIT_DIALECTS_TRAIN_BLOCKS_H
