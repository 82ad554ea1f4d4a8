// Limits the choice among a library's algorithms.
#ifndef ZC_RUNTIME_DEVICE_CUDA_ALGORITHMCHOICE_H
#define ZC_RUNTIME_DEVICE_CUDA_ALGORITHMCHOICE_H

namespace zc::cuda {

struct AlgorithmChoice {
  /// The quickest by measurement, not the highest in the library's ranking.
  bool measures = false;
  /// float32 factors may be rounded to TF32 (10 bits of mantissa) for tensor
  /// cores; else products of float32 are exact.
  bool tf32 = false;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_ALGORITHMCHOICE_H
