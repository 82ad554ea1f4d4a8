// How a factor's lines lie in memory. Private to this folder.
#ifndef ZC_KERNELS_CPU_MATMULSIDE_H
#define ZC_KERNELS_CPU_MATMULSIDE_H

#include "kernels/Cpu/MatmulTiles.h"
#include "kernels/Spec.h"

namespace zc::kernels {

/// The lines of a factor: rows of a or columns of b.
struct MatmulSide {
  int64_t lineStride, depthStride;

  MatmulLines at(const char *data, int64_t line, int64_t depth,
                 int64_t elementBytes) const {
    return {data + (line * lineStride + depth * depthStride) * elementBytes,
            lineStride, depthStride};
  }
};

inline MatmulSide rowsOf(const StridedTensor &a) {
  return {a.strides[0], a.strides[1]};
}
inline MatmulSide columnsOf(const StridedTensor &b) {
  return {b.strides[1], b.strides[0]};
}

/// `count` lines of `depth` elements as they lie in memory.
inline SoonRead readSoon(const MatmulLines &lines, int64_t count, int64_t depth,
                         int64_t elementBytes) {
  auto *data = static_cast<const char *>(lines.data);
  if (lines.depthStride == 1)
    return {data, lines.lineStride * elementBytes, depth * elementBytes, count,
            0};
  return {data, lines.depthStride * elementBytes, count * elementBytes, depth,
          0};
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_MATMULSIDE_H
