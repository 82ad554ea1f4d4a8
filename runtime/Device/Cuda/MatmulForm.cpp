#include "runtime/Device/Cuda/MatmulForm.h"

#include <algorithm>

namespace zc::cuda {
namespace {

/// Batches are the third dim of the library's grids.
constexpr int64_t kMostBatch = 65535;

/// The last two dims of `tensor`, seen as the transpose of a column-major
/// matrix; `transposed`: of a row or a column, which is both, the other one.
Result<ColumnMajor> columnMajor(const kernels::StridedTensor &tensor,
                                bool transposed = false) {
  size_t rank = tensor.dims.size();
  int64_t rows = tensor.dims[rank - 2], columns = tensor.dims[rank - 1];
  int64_t rowStride = tensor.strides[rank - 2];
  int64_t columnStride = tensor.strides[rank - 1];
  // One row or column read again and again is no matrix to the library.
  if ((rows > 1 && rowStride == 0) || (columns > 1 && columnStride == 0))
    return makeError(StatusCode::Unsupported, "a matrix has strides ",
                     rowStride, " and ", columnStride, "; none may be 0");
  bool asIs = columnStride == 1 || columns == 1;
  bool turned = rowStride == 1 || rows == 1;
  if (asIs && !(transposed && turned))
    return ColumnMajor{columns, rows, std::max(rowStride, columns), false, 0};
  if (turned)
    return ColumnMajor{rows, columns, std::max(columnStride, rows), true, 0};
  return makeError(StatusCode::Unsupported, "a matrix has strides ", rowStride,
                   " and ", columnStride, "; one of them must be 1");
}

/// Whether batch dims i and i + 1 of `tensor` are one dim in memory.
bool joins(const kernels::StridedTensor &tensor, size_t i) {
  return tensor.strides[i] == tensor.strides[i + 1] * tensor.dims[i + 1];
}

/// Several calls of one size where the batch is too large for one.
void divideBatch(MatmulForm &form) {
  int64_t whole = form.batch;
  int64_t calls = (whole + kMostBatch - 1) / kMostBatch;
  while (whole % calls != 0)
    ++calls;
  form.batch = whole / calls;
  form.calls.clear();
  for (int64_t i = 0; i < calls; ++i) {
    int64_t at = i * form.batch;
    form.calls.push_back({at * form.left.batchStride,
                          at * form.right.batchStride,
                          at * form.result.batchStride});
  }
}

} // namespace

Result<MatmulForm> makeForm(const kernels::MatmulSpec &spec) {
  MatmulForm form;
  // The library adds up only what lies side by side.
  using kernels::MatmulSums;
  bool sumsRows = spec.epilogue.sums == MatmulSums::LhsRows;
  ZC_ASSIGN_OR_RETURN(form.left, columnMajor(spec.b));
  ZC_ASSIGN_OR_RETURN(form.right, columnMajor(spec.a, sumsRows));
  if ((sumsRows && !form.right.transposed) ||
      (spec.epilogue.sums == MatmulSums::RhsColumns && form.left.transposed))
    return makeError(StatusCode::Unsupported,
                     "the summed elements of a factor do not lie side by side");
  ZC_ASSIGN_OR_RETURN(form.result, columnMajor(spec.c));
  if (form.result.transposed)
    return makeError(StatusCode::Unsupported, "the product is column-major");
  size_t rank = spec.c.dims.size();
  form.m = spec.c.dims[rank - 1];
  form.n = spec.c.dims[rank - 2];
  form.k = spec.a.dims[rank - 1];
  // From the innermost batch dim outwards while one stride passes through.
  const kernels::StridedTensor *tensors[] = {&spec.b, &spec.a, &spec.c};
  size_t first = rank - 2;
  form.batch = 1;
  if (first > 0) {
    --first;
    form.batch = spec.c.dims[first];
    form.left.batchStride = spec.b.strides[first];
    form.right.batchStride = spec.a.strides[first];
    form.result.batchStride = spec.c.strides[first];
    while (first > 0 &&
           std::all_of(std::begin(tensors), std::end(tensors),
                       [&](auto *tensor) { return joins(*tensor, first - 1); }))
      form.batch *= spec.c.dims[--first];
  }
  divideBatch(form);
  for (size_t dim = 0; dim < first; ++dim) {
    std::vector<MatmulForm::Offsets> calls;
    for (const MatmulForm::Offsets &from : form.calls)
      for (int64_t i = 0; i < spec.c.dims[dim]; ++i)
        calls.push_back({from.left + i * spec.b.strides[dim],
                         from.right + i * spec.a.strides[dim],
                         from.result + i * spec.c.strides[dim]});
    form.calls = std::move(calls);
  }
  return form;
}

} // namespace zc::cuda
